// Owns the names of file systems, and that an open file tells its own.

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { fileSystemOf } from '../src/file-system.js';
import { open, openModel, openSync, parse } from '../src/index.js';
import { fileOf, scratch } from './support/files.js';

const folder = scratch();
afterAll(() => folder.remove());
const CONTENT = fileOf([{ name: 'a', dtype: 'U8', shape: [4] }]);
const PATH = folder.write('file.safetensors', CONTENT);

describe('fileSystemOf', () => {
  it.each([
    [0xef53, 'ext4', false],
    [0x01021994, 'tmpfs', false],
    [0x6969, 'nfs', true],
    [0x65735546, 'fuse', true],
    [0xfe534d42, 'smb', true],
    [0xfe534d42 | 0, 'smb', true],
    [0x0bd00bd0, 'lustre', true],
    [0x12345, '0x12345', false],
  ])('of %d is %s', (type, name, isNetwork) => {
    expect(fileSystemOf(type, 'linux')).toEqual({ name, isNetwork });
  });

  it('is unknown where numbers mean something else, or none was given', () => {
    expect(fileSystemOf(0x6969, 'darwin')).toEqual({ name: 'unknown', isNetwork: false });
    expect(fileSystemOf(undefined, 'linux')).toEqual({ name: 'unknown', isNetwork: false });
  });
});

describe('an open file', () => {
  it('says what it lies on, mapped or read; one in memory lies on nothing', async () => {
    const { fileSystem } = openSync(PATH);
    expect(fileSystem).toEqual({ name: expect.any(String), isNetwork: expect.any(Boolean) });
    expect(Object.isFrozen(fileSystem)).toBe(true);
    for (const options of [{}, { backend: 'read' }] as const) {
      using file = await open(PATH, options);
      using model = await openModel(PATH, options);
      expect([file.fileSystem, model.fileSystem, openSync(PATH).fileSystem]).toEqual(new Array(3).fill(fileSystem));
    }
    expect(parse(CONTENT).fileSystem).toBeUndefined();
  });

  it.runIf(process.platform === 'linux')('says what stat(1) says', () => {
    const type = Number.parseInt(execFileSync('stat', ['-f', '-c', '%t', PATH], { encoding: 'utf8' }), 16);
    expect(openSync(PATH).fileSystem).toEqual(fileSystemOf(type));
  });

  it.runIf(existsSync('/proc/self/fd'))('is asked by its descriptor, so that a link elsewhere does not matter', () => {
    expect(openSync(PATH).fileSystem?.name).not.toBe('unknown');
  });
});

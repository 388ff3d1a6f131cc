// Owns the shards of an open model: when they are mapped, and what happens when their files have changed by then.
// Refuses models that do not open (model.test.ts).

import { renameSync, rmSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { openModel } from '../src/index.js';
import { liveMappings } from '../src/mapping.js';
import { descriptorsIn, fileOf, scratch } from './support/files.js';
import { directoryOf, INDEX, indexOf, tensorOf } from './support/models.js';
import { codeOf, failureOf } from './support/outcome.js';

const folder = scratch();
afterAll(() => folder.remove());
afterEach(() => expect(descriptorsIn(folder.path)).toEqual([]));

describe('a shard', () => {
  const twoShards = () => directoryOf(folder, { [INDEX]: indexOf({ a: 's-1', b: 's-2' }), 's-1': ['a'], 's-2': ['b'] });

  it('is mapped when one of its tensors is first asked for, and unmapped by close', async () => {
    const model = await openModel(twoShards());
    const mappings = liveMappings();
    expect([...model.keys(), model.has('a'), model.info('b').dtype]).toEqual(['a', 'b', true, 'U8']);
    expect(model.get('none')).toBeUndefined();
    expect(liveMappings()).toBe(mappings);
    model.tensor('b');
    model.tensor('b').data;
    expect(liveMappings()).toBe(mappings + 1);
    const kept = model.tensor('a').data;
    expect(liveMappings()).toBe(mappings + 2);
    model.close();
    expect(kept).toHaveLength(0);
  });

  it.each<[string, (path: string) => void]>([
    ['replaced', (path) => renameSync(folder.write('new', fileOf([tensorOf('b')])), path)],
    ['written again', (path) => utimesSync(path, new Date(0), new Date(0))],
    ['longer', (path) => folder.write(path.slice(folder.path.length + 1), fileOf([tensorOf('b'), tensorOf('c')]))],
  ])(
    'that was %s since its header was read is SHARD_CHANGED; one that is mapped already is not touched',
    async (_, change) => {
      const path = twoShards();
      using model = await openModel(path);
      change(join(path, 's-2'));
      const failure = await failureOf(() => model.tensor('b'));
      expect(failure).toMatchObject({ code: 'SHARD_CHANGED', path: join(path, 's-2'), isFormatError: false });
      expect(model.tensor('a').data[0]).toBe(1);
      renameSync(folder.write('other', fileOf([tensorOf('a')])), join(path, 's-1'));
      expect(model.tensor('a').data[0]).toBe(1);
    },
  );

  it('that was removed since is the system’s error', async () => {
    const path = twoShards();
    using model = await openModel(path);
    rmSync(join(path, 's-2'));
    expect(await codeOf(() => model.tensor('b'))).toBe('ENOENT');
    expect(model.tensor('a').data[0]).toBe(1);
  });

  it('is found after the working directory has changed', async () => {
    const path = twoShards();
    const before = process.cwd();
    try {
      process.chdir(path);
      using model = await openModel('.');
      process.chdir('/');
      expect(model.tensor('b').data[0]).toBe(1);
    } finally {
      process.chdir(before);
    }
  });
});

// Owns what becomes of the system's answers when pages are brought in, with a binding that is made up and files that are not.

import { closeSync, fstatSync, openSync, renameSync, truncateSync } from 'node:fs';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { MappingHandle, NativeBinding } from '../src/binding.js';
import { SafeTensorsError } from '../src/errors.js';
import { fileSystemOf } from '../src/file-system.js';
import { Origin } from '../src/origin.js';
import { descriptorsIn, scratch } from './support/files.js';
import { errorOf } from './support/outcome.js';

const folder = scratch();
afterAll(() => {
  expect(descriptorsIn(folder.path)).toEqual([]);
  folder.remove();
});

const SIZE = 100_000;
const [EIO, ENOMEM, EFAULT, EINVAL] = [5, 12, 14, 22];
const LOCAL = fileSystemOf(undefined);
const NETWORK = { name: 'nfs', isNetwork: true };
let files = 0;

beforeEach(() => vi.resetModules());

/** A file, and its mapping as `bringIn` sees it; the binding gives these answers, the last for ever. */
function mappingOf(answers: number[], fileSystem = LOCAL) {
  const path = folder.write(`file-${files++}`, new Uint8Array(SIZE));
  const descriptor = openSync(path, 'r');
  const origin = new Origin(path, fstatSync(descriptor, { bigint: true }), fileSystem);
  closeSync(descriptor);
  const calls: string[] = [];
  const binding = {
    bringIn: async () => {
      calls.push('populate');
      return answers.length > 1 ? answers.shift() : answers[0];
    },
    askForLargePages: async () => {
      calls.push('large');
      return 0;
    },
  } as unknown as NativeBinding;
  const use = origin.use.bind(origin);
  origin.use = async (reading) => {
    const wasRead = await use(reading);
    calls.push(wasRead ? 'read' : 'lost');
    return wasRead;
  };
  const state = { open: true };
  const requireOpen = () => {
    if (!state.open) throw new SafeTensorsError('CLOSED', 'the file was closed');
  };
  return { path, calls, state, pages: { binding, handle: {} as MappingHandle, origin, requireOpen } };
}

const fresh = () => import('../src/mapped-pages.js');

describe('bringIn', () => {
  it.each<[string, number[], typeof LOCAL, string[]]>([
    ['populates a local file', [0], LOCAL, ['populate']],
    ['reads a network file, in large calls, and maps what was read', [0], NETWORK, ['read', 'populate']],
    ['reads where the system cannot populate', [EINVAL], LOCAL, ['populate', 'read']],
    ['asks again after a fault that reading does not have', [EFAULT, 0], LOCAL, ['populate', 'read', 'populate']],
  ])('%s', async (_, answers, fileSystem, expected) => {
    const { bringIn } = await fresh();
    const { pages, calls } = mappingOf(answers, fileSystem);
    await bringIn(pages, [0, 10, 5000, SIZE]);
    expect(calls).toEqual(expected);
  });

  it('remembers that the system cannot populate', async () => {
    const { bringIn } = await fresh();
    await bringIn(mappingOf([EINVAL]).pages, [0, SIZE]);
    const { pages, calls } = mappingOf([0]);
    await bringIn(pages, [0, SIZE]);
    expect(calls).toEqual(['read']);
  });

  it('only hints where it cannot populate a file that has lost its name', async () => {
    const { bringIn } = await fresh();
    const { pages, calls, path } = mappingOf([EINVAL]);
    renameSync(path, `${path}-moved`);
    await bringIn(pages, [0, SIZE]);
    expect(calls).toEqual(['populate', 'lost', 'populate']);
  });

  it('takes no other file that has the name', async () => {
    const { bringIn } = await fresh();
    const { pages, calls, path } = mappingOf([0], NETWORK);
    renameSync(path, `${path}-moved`);
    folder.write(path.slice(folder.path.length + 1), new Uint8Array(SIZE));
    await bringIn(pages, [0, SIZE]);
    expect(calls).toEqual(['lost', 'populate']);
  });

  it('says of a fault that the file has become shorter, where it has', async () => {
    const { bringIn } = await fresh();
    const { pages, path } = mappingOf([EFAULT]);
    truncateSync(path, 6000);
    const error = await errorOf(() => bringIn(pages, [0, 10, 5000, SIZE]));
    expect(error).toMatchObject({ code: 'TRUNCATED_DATA', message: expect.stringContaining('ends at byte 6000') });
  });

  it.each([
    [EFAULT, 'EIO', -EIO],
    [ENOMEM, 'ENOMEM', -ENOMEM],
    [133, 'EHWPOISON', -133],
  ])('gives errno %d on as %s, in the shape that Node has', async (answer, code, errno) => {
    const { bringIn } = await fresh();
    const { pages } = mappingOf([answer]);
    const error = await errorOf(() => bringIn(pages, [4, 8]));
    expect(error).toMatchObject({ code, errno, syscall: 'madvise', message: expect.stringContaining('[4, 8)') });
    expect(error).not.toBeInstanceOf(SafeTensorsError);
  });

  it('is CLOSED when the file is closed before, or while it is read', async () => {
    const { bringIn } = await fresh();
    const { pages, state, calls } = mappingOf([0], NETWORK);
    const bringing = bringIn(pages, [0, SIZE]);
    state.open = false;
    expect(await errorOf(() => bringing)).toMatchObject({ code: 'CLOSED' });
    expect(await errorOf(() => bringIn(pages, [0, SIZE]))).toMatchObject({ code: 'CLOSED' });
    expect(calls).toEqual(['read']);
  });
});

it('large pages are for local files', async () => {
  const { askForLargePages } = await fresh();
  const [local, network] = [mappingOf([0]), mappingOf([0], NETWORK)];
  for (const { pages } of [local, network]) await askForLargePages(pages, [0, SIZE]);
  expect([local.calls, network.calls]).toEqual([['large'], []]);
});

describe('Origin', () => {
  it('leads to the file until that has another name', () => {
    const path = folder.write('origin', 'x');
    const descriptor = openSync(path, 'r');
    const status = fstatSync(descriptor, { bigint: true });
    closeSync(descriptor);
    const origin = new Origin(path, status, LOCAL);
    expect(origin.useSync((found) => fstatSync(found, { bigint: true }).ino)).toBe(status.ino);
    expect(origin.tellsResidency).toBe(true);
    renameSync(path, `${path}-moved`);
    expect(origin.useSync(() => 1)).toBeUndefined();
  });
});

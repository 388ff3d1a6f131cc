// Owns the doors to one file: what they take, what they refuse, and that they leave no descriptor behind.
// Refuses the rules of the format; each has a test file of its own.

import { chmodSync, closeSync, openSync as openFile, readFileSync, symlinkSync, truncateSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { readRange, readRangeSync } from '../src/descriptor.js';
import { requireLittleEndian } from '../src/host.js';
import { type OpenOptions, open, openModel, openSync, parse, readHeader, SafeTensorsError } from '../src/index.js';
import { counting, descriptorsIn, fileOf, makeFifo, scratch, withHeader } from './support/files.js';
import { codeOf, errorOf, failureOf } from './support/outcome.js';

const folder = scratch();
afterAll(() => folder.remove());
afterEach(() => expect(descriptorsIn(folder.path)).toEqual([]));

const CONTENT = fileOf([
  { name: 'a', dtype: 'F32', shape: [2, 2] },
  { name: 'b', dtype: 'U8', shape: [5] },
]);
const PATH = folder.write('file with spaces %20 é.safetensors', CONTENT);

/** Every way in that takes a path. */
const DOORS: Readonly<Record<string, (path: string | URL, options?: OpenOptions) => unknown>> = {
  open: (path, options) => open(path, options),
  openSync,
  'open, reading': (path, options) => open(path, { ...options, backend: 'read' }),
  'openSync, reading': (path, options) => openSync(path, { ...options, backend: 'read' }),
  readHeader: (path, options) => readHeader(path, options),
  openModel: (path, options) => openModel(path, options),
};

const FILE_DOORS = Object.entries(DOORS).filter(([name]) => name !== 'openModel');

describe.each(Object.entries(DOORS))('%s', (_, door) => {
  it('takes a path, a file: URL and a symbolic link, and keeps the path as text', async () => {
    const link = join(folder.path, `link-${Math.random()}`);
    symlinkSync(PATH, link);
    for (const [given, path] of [
      [PATH, PATH],
      [pathToFileURL(PATH), PATH],
      [link, link],
    ] as const) {
      const file = (await door(given)) as { path: string; size: number; close?: () => void };
      expect([file.path, file.size]).toEqual([path, 2]);
      file.close?.();
    }
  });

  it('reports the system’s failures as node:fs does', async () => {
    const missing = join(folder.path, 'missing.safetensors');
    expect(await errorOf(() => door(missing))).toMatchObject({
      code: 'ENOENT',
      errno: expect.any(Number),
      syscall: expect.stringMatching(/^(open|stat)$/),
      path: missing,
    });
    expect(await codeOf(() => door(join(PATH, 'below')))).toBe('ENOTDIR');
    expect(await codeOf(() => door(join(folder.path, 'n'.repeat(300))))).toBe('ENAMETOOLONG');
  });

  it('refuses what is no regular file, and does not wait for a pipe', async () => {
    const pipe = makeFifo(join(folder.path, `pipe-${Math.random()}`));
    for (const path of [pipe, '/dev/null']) {
      const failure = await failureOf(() => door(path));
      expect(failure).toMatchObject({ code: 'NOT_A_REGULAR_FILE', path, isFormatError: false });
      expect(failure.message).toContain(`${JSON.stringify(path)} is not a regular file`);
    }
  });

  it('refuses a socket', async () => {
    const path = join(folder.path, `socket-${Math.random()}`);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(path, resolve));
    try {
      expect(await codeOf(() => door(path))).toBe('ENXIO'); // open(2) does not open sockets
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  });

  it('refuses what it has no permission for', async () => {
    const path = folder.write(`secret-${Math.random()}`, CONTENT);
    chmodSync(path, 0);
    // Root may read everything, and so is nobody for a moment.
    const isRoot = process.geteuid?.() === 0;
    if (isRoot) process.seteuid?.('nobody');
    try {
      expect(await codeOf(() => door(path))).toBe('EACCES');
    } finally {
      if (isRoot) process.seteuid?.(0);
    }
  });

  it('refuses an empty file', async () => {
    const failure = await failureOf(() => door(folder.write('empty', '')));
    expect(failure.code).toBe('HEADER_TOO_SMALL');
    expect(failure.message).toMatch(/: the file is empty; the file has 0 bytes, fewer than the 8 /);
  });

  it('refuses a header over maxHeaderLength, and takes one of just that length', async () => {
    const { headerLength } = await readHeader(PATH);
    const file = (await door(PATH, { maxHeaderLength: headerLength })) as { close?: () => void };
    file.close?.();
    const failure = await failureOf(() => door(PATH, { maxHeaderLength: headerLength - 1 }));
    expect(failure).toMatchObject({ code: 'HEADER_TOO_LARGE', path: PATH });
    expect(failure.message).toContain(`claims ${headerLength} bytes; the limit is ${headerLength - 1}`);
    expect(await codeOf(() => door(PATH, { maxHeaderLength: 0 }))).toBe('HEADER_TOO_LARGE');
  });

  it('keeps the header’s limit when the file claims more than memory', async () => {
    const path = folder.write('huge', Buffer.concat([Buffer.of(0, 0, 0, 0, 0, 0, 0, 0x10), Buffer.alloc(32, 1)]));
    expect(await codeOf(() => door(path))).toBe('HEADER_TOO_LARGE');
  });
});

describe.each(FILE_DOORS)('%s', (_, door) => {
  it('refuses a directory and says what opens one', async () => {
    const failure = await failureOf(() => door(folder.path));
    expect(failure).toMatchObject({ code: 'NOT_A_REGULAR_FILE', path: folder.path });
    expect(failure.message).toMatch(/a directory: openModel\(\) opens those$/);
  });
});

describe('a descriptor', () => {
  it('is not kept by a mapping', async () => {
    using file = openSync(PATH);
    using other = await open(PATH);
    expect(descriptorsIn(folder.path)).toEqual([]);
    expect(file.tensor('b').data).toEqual(counting(21).subarray(16));
    expect(other.tensor('b').data).toEqual(counting(21).subarray(16));
  });

  it('is kept by a reader until it is closed', async () => {
    const files = [openSync(PATH, { backend: 'read' }), await open(PATH, { backend: 'read' })];
    expect(descriptorsIn(folder.path)).toEqual([PATH, PATH]);
    for (const file of files) file.close();
    for (const file of files) file.close();
    expect(descriptorsIn(folder.path)).toEqual([]);
  });

  it.each([
    ['an invalid header', withHeader('{"a"}')],
    ['missing data', CONTENT.subarray(0, -1)],
    ['trailing data', Buffer.concat([CONTENT, Buffer.of(1)])],
    ['a header that is too long', CONTENT.subarray(0, 20)],
  ])('is not kept after %s', async (what, content) => {
    const path = folder.write(what, content);
    for (const door of Object.values(DOORS)) {
      await failureOf(() => door(path));
      expect(descriptorsIn(folder.path)).toEqual([]);
    }
  });
});

describe('a file that shrinks', () => {
  it('after it was opened is an error of the read that finds out, naming the tensor', async () => {
    const path = folder.write('shrinking', CONTENT);
    using file = await open(path, { backend: 'read' });
    const kept = file.tensor('a');
    const before = [...kept.data];
    truncateSync(path, CONTENT.length - 3);
    expect([...file.tensor('a').data]).toEqual(before);
    const failure = await failureOf(() => file.tensor('b').data);
    expect(failure).toMatchObject({ code: 'TRUNCATED_DATA', path, tensor: 'b', cause: expect.any(SafeTensorsError) });
    expect(failure.message).toMatch(/^tensor "b": .*has become shorter since it was opened$/);
    truncateSync(path, 10);
    expect(await codeOf(() => file.tensor('a').slice(0).bytes)).toBe('TRUNCATED_DATA');
    expect([...kept.data]).toEqual(before); // read once and kept, …
    expect(file.tensor('a').bytes.buffer).toBe(kept.data.buffer); // … for whoever else asks
  });

  it.each([readRangeSync, readRange])('while it is read is an error of %o', async (read) => {
    const descriptor = openFile(folder.write('short', counting(10)), 'r');
    try {
      expect(await read(descriptor, 2, 10)).toEqual(counting(10).subarray(2));
      expect(await read(descriptor, 3, 3)).toEqual(new Uint8Array(0));
      const failure = await failureOf(() => read(descriptor, 5, 20));
      expect(failure.code).toBe('TRUNCATED_DATA');
      expect(failure.message).toContain('ends at byte 10, inside the range [5, 20)');
    } finally {
      closeSync(descriptor);
    }
  });
});

describe('a big-endian machine', () => {
  it('is refused', () => {
    expect(() => requireLittleEndian('BE')).toThrow(expect.objectContaining({ code: 'UNSUPPORTED_HOST' }));
    expect(() => requireLittleEndian('LE')).not.toThrow();
    expect(() => requireLittleEndian()).not.toThrow();
  });
});

describe('the same file', () => {
  it('opened many times is many files', () => {
    const [first, second] = [openSync(PATH), openSync(PATH)];
    first.tensor('b').data[0] = 99;
    expect(second.tensor('b').data[0]).toBe(17);
    first.close();
    expect(second.tensor('b').data[0]).toBe(17);
    second.close();
  });

  it('is the same through every door', async () => {
    using mapped = openSync(PATH);
    using read = await open(PATH, { backend: 'read' });
    const inMemory = parse(readFileSync(PATH));
    for (const file of [mapped, read, inMemory]) {
      expect([...file.entries()].map(([name, { bytes }]) => [name, Buffer.from(bytes).toString('hex')])).toEqual([
        ['a', Buffer.from(counting(16)).toString('hex')],
        ['b', Buffer.from(counting(21).subarray(16)).toString('hex')],
      ]);
    }
  });
});

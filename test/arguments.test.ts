// Owns arguments of wrong types, as callers without types pass them: a result or a documented error, never a crash.
// Refuses options (options.test.ts) and indices of slices (indexing.test.ts).

import { runInNewContext } from 'node:vm';
import { afterAll, describe, expect, it } from 'vitest';
import {
  open,
  openModel,
  openSync,
  parse,
  readHeader,
  type SafeTensors,
  SafeTensorsError,
  type SafeTensorsModel,
} from '../src/index.js';
import { fileOf, scratch } from './support/files.js';
import { codeOf, errorOf } from './support/outcome.js';

const folder = scratch();
afterAll(() => folder.remove());

const CONTENT = fileOf([
  { name: 'a', dtype: 'U8', shape: [1] },
  { name: '', dtype: 'U8', shape: [1] },
  { name: 'undefined', dtype: 'U8', shape: [1] },
]);
const PATH = folder.write('model.safetensors', CONTENT);
const INDEX = folder.write(
  'model.safetensors.index.json',
  JSON.stringify({ weight_map: { a: 'model.safetensors', '': 'model.safetensors', undefined: 'model.safetensors' } }),
);

/** What is no string, though some of it looks like one. */
const NO_STRINGS: readonly unknown[] = [
  undefined,
  null,
  0,
  Number.NaN,
  1n,
  true,
  Symbol('a'),
  [],
  ['a'],
  {},
  Object.create(null),
  { toString: () => 'a' },
  { length: 0 },
  { length: 1, charCodeAt: () => 0x61 },
  new String('a'),
  () => 'a',
  Buffer.from('a'),
];

const FACES: Record<string, () => Promise<SafeTensors | SafeTensorsModel>> = {
  'a mapped file': async () => openSync(PATH),
  'a file in memory': async () => parse(CONTENT),
  'a model of one file': () => openModel(PATH),
  'a model with an index': () => openModel(INDEX),
};

describe.each(Object.keys(FACES))('a name that is no string, asked of %s', (face) => {
  it.each(NO_STRINGS.map((name) => [typeof name, name] as const))('(%s) %o', async (_, value) => {
    using file = await FACES[face]!();
    const name = value as string;
    expect(file.has(name)).toBe(false);
    expect(file.get(name)).toBeUndefined();
    expect(await codeOf(() => file.tensor(name))).toBe('INVALID_ARGUMENT');
    expect(await codeOf(() => file.info(name))).toBe('INVALID_ARGUMENT');
    if ('shardOf' in file) expect(await codeOf(() => file.shardOf(name))).toBe('INVALID_ARGUMENT');
  });
});

describe('forEach', () => {
  it.each([undefined, null, 'a', {}])('of %o throws a TypeError, as a Map does', async (callback) => {
    for (const face of Object.values(FACES)) {
      using file = await face();
      expect(await errorOf(() => file.forEach(callback as unknown as () => void))).toBeInstanceOf(TypeError);
    }
  });
});

describe('a path', () => {
  const doors = { open, openSync, openModel, readHeader };

  it.each([undefined, null, 7, 1n, true, Symbol('a'), [], {}, { toString: () => PATH }, new String(PATH)])(
    'of %o is refused',
    async (path) => {
      for (const door of Object.values(doors)) {
        const error = await errorOf(() => door(path as string));
        expect(error).toBeInstanceOf(SafeTensorsError);
        expect(error.code).toBe('INVALID_ARGUMENT');
      }
    },
  );

  it('with a NUL is refused as node:fs does', async () => {
    for (const door of Object.values(doors))
      expect(await codeOf(() => door(`${PATH}\0`))).toBe('ERR_INVALID_ARG_VALUE');
  });

  it('that is empty does not exist', async () => {
    for (const door of Object.values(doors)) expect(await codeOf(() => door(''))).toBe('ENOENT');
  });

  it('that is a URL of another scheme is refused', async () => {
    for (const door of Object.values(doors)) {
      expect(await codeOf(() => door(new URL('https://example.org/model.safetensors')))).toBe('ERR_INVALID_URL_SCHEME');
    }
  });
});

describe('parse', () => {
  it.each([
    undefined,
    null,
    0,
    'abc',
    [],
    [1, 2],
    {},
    new Float32Array(4),
    new DataView(new ArrayBuffer(8)),
    new Blob([]),
  ])('of %o is refused', async (value) => {
    expect(await codeOf(() => parse(value as unknown as Uint8Array))).toBe('INVALID_ARGUMENT');
  });

  it('of memory that was given away is refused', async () => {
    const bytes = CONTENT.slice();
    structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
    expect(await codeOf(() => parse(bytes))).toBe('HEADER_TOO_SMALL');
    expect(await codeOf(() => parse(bytes.buffer))).toMatch(/^(HEADER_TOO_SMALL|INVALID_ARGUMENT)$/);
  });

  it.each<[string, () => Uint8Array | ArrayBufferLike]>([
    ['an ArrayBuffer', () => CONTENT.slice().buffer],
    ['a Buffer', () => Buffer.from(CONTENT)],
    [
      'a SharedArrayBuffer',
      () => {
        const shared = new SharedArrayBuffer(CONTENT.length);
        new Uint8Array(shared).set(CONTENT);
        return shared;
      },
    ],
    ['a Uint8Array of another realm', () => runInNewContext('Uint8Array.from(bytes)', { bytes: [...CONTENT] })],
    [
      'an ArrayBuffer of another realm',
      () => runInNewContext('Uint8Array.from(bytes).buffer', { bytes: [...CONTENT] }),
    ],
  ])('takes %s', (_, make) => {
    const file = parse(make());
    expect([...file.keys()]).toEqual(['a', '', 'undefined']);
    expect(file.tensor('undefined').data).toEqual(Uint8Array.of(3));
  });

  it('is over the memory that it was given: a later write is seen', () => {
    const content = CONTENT.slice();
    const file = parse(content);
    content[content.length - 1] = 99;
    expect(file.tensor('undefined').data[0]).toBe(99);
    expect(file.tensor('undefined').data.buffer).toBe(content.buffer);
  });
});

// Owns the comparison with the Python reference: every committed file, through every door, every value.
// Refuses hostile input: see verdicts.test.ts.

import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  type Dtype,
  open,
  openModel,
  openSync,
  parse,
  readHeader,
  type SafeTensors,
  type TensorView,
} from '../src/index.js';
import { type ExpectedTensor, FILES, fixtureFiles, readExpected } from './fixtures/expected.js';
import { decodeSmallFloats } from './fixtures/small-floats.js';

const ARRAYS: Record<Dtype, string> = {
  U64: 'BigUint64Array',
  I64: 'BigInt64Array',
  F64: 'Float64Array',
  C64: 'Float32Array',
  F32: 'Float32Array',
  U32: 'Uint32Array',
  I32: 'Int32Array',
  BF16: 'Uint16Array',
  F16: 'Uint16Array',
  U16: 'Uint16Array',
  I16: 'Int16Array',
  F8_E5M2FNUZ: 'Uint8Array',
  F8_E4M3FNUZ: 'Uint8Array',
  F8_E8M0: 'Uint8Array',
  F8_E4M3: 'Uint8Array',
  F8_E5M2: 'Uint8Array',
  I8: 'Int8Array',
  U8: 'Uint8Array',
  F6_E3M2: 'Uint8Array',
  F6_E2M3: 'Uint8Array',
  F4: 'Uint8Array',
  BOOL: 'Uint8Array',
};

type Door = (path: string) => SafeTensors | Promise<SafeTensors>;

/** Bytes of a file that begin at an odd address of their own buffer, as a slice of something larger would. */
function atOddAddress(content: Uint8Array): Uint8Array {
  const room = new Uint8Array(content.length + 2);
  room.set(content, 1);
  return room.subarray(1, 1 + content.length);
}

const DOORS: Record<string, Door> = {
  open: (path) => open(path),
  'open, copying': (path) => open(path, { misaligned: 'copy' }),
  'open, viewing': (path) => open(path, { misaligned: 'view' }),
  'open, read-only': (path) => open(path, { protection: 'read-only' }),
  'open, reading': (path) => open(path, { backend: 'read' }),
  openSync: (path) => openSync(path),
  'openSync, reading': (path) => openSync(path, { backend: 'read' }),
  'parse of a Uint8Array': async (path) => parse(await readFile(path)),
  'parse of an ArrayBuffer': async (path) => parse(new Uint8Array(await readFile(path)).buffer),
  'parse at an odd address': async (path) => parse(atOddAddress(await readFile(path))),
};

function expectTensor(tensor: TensorView<Dtype>, expected: ExpectedTensor): void {
  const { name, dtype, shape, data_offsets: offsets } = expected;
  const length = shape.reduce((product, size) => product * size, 1);
  expect(tensor.name).toBe(name);
  expect(tensor.dtype).toBe(dtype);
  expect(tensor.shape).toEqual(shape);
  expect(tensor.length).toBe(length);
  expect(tensor.dataOffsets).toEqual(offsets);
  expect(tensor.byteLength).toBe(offsets[1] - offsets[0]);
  expect(tensor.bytes.constructor.name).toBe('Uint8Array');
  expect(Buffer.from(tensor.bytes).toString('hex'), name).toBe(expected.hex);
  expect(tensor.data.constructor.name).toBe(ARRAYS[dtype]);
  expectValues(tensor.data, expected.values, name);
  if (expected.decoded !== undefined) {
    const decoded = decodeSmallFloats(dtype, tensor.data as ArrayLike<number>, length);
    expectValues(decoded, expected.decoded, name);
  }
}

/** By Object.is, which tells -0 from 0 and knows NaN. */
function expectValues(actual: ArrayLike<number | bigint>, expected: readonly (number | bigint)[], name: string): void {
  expect(actual.length, name).toBe(expected.length);
  for (const [index, wanted] of expected.entries()) {
    const found = actual[index];
    if (!Object.is(found, wanted)) expect.fail(`${name}[${index}] is ${found}, the reference reads ${wanted}`);
  }
}

describe('the reference’s files', () => {
  it('covers every dtype, both aligned and not', () => {
    const tensors = fixtureFiles().flatMap((file) => readExpected(file).tensors);
    expect(new Set(tensors.map((tensor) => tensor.dtype))).toEqual(new Set(Object.keys(ARRAYS)));
    expect(fixtureFiles().length).toBeGreaterThanOrEqual(21);
  });

  describe.each(fixtureFiles())('%s', (file) => {
    const path = join(FILES, file);
    const expected = readExpected(file);
    const names = expected.tensors.map((tensor) => tensor.name);

    it.each(Object.keys(DOORS))('%s', async (door) => {
      using opened = await DOORS[door]!(path);
      expect(opened.size).toBe(expected.tensors.length);
      expect(opened.byteLength).toBe(expected.byteLength);
      expect(opened.header.headerLength).toBe(expected.headerLength);
      expect(new Map(opened.metadata)).toEqual(expected.metadata);
      expect([...opened.keys()]).toEqual(names);
      for (const tensor of expected.tensors) {
        expect(opened.has(tensor.name)).toBe(true);
        expect(opened.info(tensor.name)).toEqual({
          dtype: tensor.dtype,
          shape: tensor.shape,
          data_offsets: tensor.data_offsets,
        });
        expectTensor(opened.tensor(tensor.name), tensor);
      }
      for (const [index, [name, tensor]] of [...opened.entries()].entries()) {
        expect(name).toBe(names[index]);
        expect(tensor.name).toBe(name);
      }
    });

    it('parse leaves the caller’s bytes as they are', () => {
      const content = readFileSync(path);
      const before = content.toString('hex');
      using opened = parse(content);
      for (const tensor of opened.values()) expect(tensor.bytes.byteLength).toBe(tensor.byteLength);
      expect(content.toString('hex')).toBe(before);
    });

    it('readHeader', async () => {
      const header = await readHeader(path);
      expect(header.byteLength).toBe(expected.byteLength);
      expect(header.headerLength).toBe(expected.headerLength);
      expect(new Map(header.metadata)).toEqual(expected.metadata);
      expect([...header.entries()]).toEqual(
        expected.tensors.map(({ name, dtype, shape, data_offsets }) => [name, { dtype, shape, data_offsets }]),
      );
    });

    it('openModel of the file alone', async () => {
      using model = await openModel(path);
      expect([...model.keys()]).toEqual(names);
      for (const tensor of expected.tensors) expectTensor(model.tensor(tensor.name), tensor);
    });
  });
});

describe('model directories as transformers writes them', () => {
  const shards = fixtureFiles().filter((file) => file.startsWith('sharded/'));
  const index = JSON.parse(readFileSync(join(FILES, 'sharded/model.safetensors.index.json'), 'utf8'));

  it.each(['sharded', 'sharded/model.safetensors.index.json'])('openModel of %s', async (path) => {
    using model = await openModel(join(FILES, path));
    const expected = shards.map((file) => ({ file: file.replace('sharded/', ''), ...readExpected(file) }));
    expect(model.shards.map((shard) => shard.file)).toEqual(expected.map((shard) => shard.file));
    expect(new Set(model.keys())).toEqual(new Set(Object.keys(index.weight_map)));
    expect(model.size).toBe(Object.keys(index.weight_map).length);
    for (const shard of expected) {
      for (const tensor of shard.tensors) {
        expect(model.shardOf(tensor.name)).toBe(shard.file);
        expect(index.weight_map[tensor.name]).toBe(shard.file);
        expectTensor(model.tensor(tensor.name), tensor);
      }
    }
  });

  it('openModel of a directory with a single file', async () => {
    using model = await openModel(join(FILES, 'single'));
    const expected = readExpected('single/model.safetensors');
    expect(model.shards.map((shard) => shard.file)).toEqual(['model.safetensors']);
    expect([...model.keys()]).toEqual(expected.tensors.map((tensor) => tensor.name));
    expect(new Map(model.metadata)).toEqual(expected.metadata);
    for (const tensor of expected.tensors) expectTensor(model.tensor(tensor.name), tensor);
  });
});

// Holds every path to float32 against the table of NumPy's and ml_dtypes' values, bit for bit: each native kernel, from
// any address, mapped, read and from memory. The JavaScript twin meets the table in convert.test.ts.
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { nativeBinding } from '../src/binding.js';
import { convertToFloat32, isConvertible } from '../src/convert.js';
import { bitsOf, DTYPES, type Dtype } from '../src/dtype.js';
import { openSync, parse, type SafeTensors } from '../src/index.js';
import { readFloat32Table } from './float32_table.js';
import { sameBytes } from './support/doors.js';
import { scratch, withHeader } from './support/files.js';

const binding = nativeBinding();
const kernels = binding.kernels();
afterEach(() => expect(binding.setKernel(null)).toBe(true));

const table = readFloat32Table();
const folder = scratch();
afterAll(() => folder.remove());

/** Smallest number of elements that fill whole bytes. */
const unitOf = (dtype: Dtype) => ({ 4: 2, 6: 4 })[bitsOf(dtype)] ?? 1;

/** A file of the table's elements, one tensor for each dtype, each `gap` bytes after the one before it. */
function fileOfTable(gap: number): Uint8Array {
  const header: Record<string, unknown> = {};
  const parts: Uint8Array[] = [];
  let end = 0;
  const add = (name: string, dtype: string, length: number, bytes: Uint8Array) => {
    header[name] = { dtype, shape: [length], data_offsets: [end, end + bytes.length] };
    parts.push(bytes);
    end += bytes.length;
  };
  for (const { dtype, count, bytes } of table) {
    if (gap > 0) add(`before ${dtype}`, 'U8', gap, new Uint8Array(gap).fill(0xa5));
    add(dtype, dtype, count, bytes);
  }
  return withHeader(JSON.stringify(header).padEnd(2048), Buffer.concat(parts));
}

function firstDifference(got: Float32Array, expected: Uint32Array): string | undefined {
  const bits = new Uint32Array(got.buffer, got.byteOffset, got.length);
  if (bits.length !== expected.length) return `${bits.length} elements, not ${expected.length}`;
  const at = bits.findIndex((value, i) => value !== expected[i]);
  return at < 0 ? undefined : `[${at}] is 0x${bits[at]!.toString(16)}, not 0x${expected[at]!.toString(16)}`;
}

describe('the kernels', () => {
  it('are named, the plain one among them, and one can be forced', () => {
    expect(kernels).toContain('scalar');
    expect(new Set(kernels).size).toBe(kernels.length);
    expect(kernels).toContain(binding.kernel());
    for (const kernel of kernels) {
      expect([binding.setKernel(kernel), binding.kernel()]).toEqual([true, kernel]);
    }
    const forced = binding.kernel();
    expect([binding.setKernel('none such'), binding.kernel()]).toEqual([false, forced]);
  });
});

describe.each(kernels)('kernel %s', (kernel) => {
  it.each(table)('$dtype: every value', ({ dtype, bytes, count, expected }) => {
    binding.setKernel(kernel);
    const floats = new Float32Array(count);
    expect(binding.convert(dtype, bytes, floats)).toBe(true);
    expect(firstDifference(floats, expected)).toBeUndefined();
  });

  it.each(table)('$dtype: from any address, to any address, of any length', ({ dtype, bytes, count, expected }) => {
    binding.setKernel(kernel);
    const bits = bitsOf(dtype);
    const memory = new Uint8Array(16 + 70 * 8 + 1);
    const floats = new Float32Array(80);
    const wrong: unknown[] = [];
    for (let length = 0; length <= Math.min(70, count); length++) {
      for (let shift = 0; shift < 16; shift++) {
        const unit = unitOf(dtype);
        const first = Math.floor((((length * 16 + shift) * 37) % (count - length + 1)) / unit) * unit;
        const part = bytes.subarray((first * bits) / 8, Math.ceil(((first + length) * bits) / 8));
        const source = memory.subarray(shift, shift + part.length);
        memory.fill(0xff);
        source.set(part);
        floats.fill(7);
        const target = floats.subarray(1 + (shift % 4), 1 + (shift % 4) + length);
        const done = binding.convert(dtype, source, target);
        const difference = firstDifference(target, expected.subarray(first, first + length));
        const beside = floats.filter((value, i) => (i <= shift % 4 || i > (shift % 4) + length) && value !== 7);
        if (!done || difference !== undefined || beside.length > 0) wrong.push([length, shift, difference, beside]);
      }
    }
    expect(wrong).toEqual([]);
  });

  it.each([0, 1, 2, 4, 7])('tensors of a file %i bytes off, whole, in parts and in columns', (gap) => {
    binding.setKernel(kernel);
    using file = openSync(folder.write(`table-${gap}.safetensors`, fileOfTable(gap)));
    for (const { dtype, count, expected } of table) {
      const tensor = file.tensor(dtype);
      expect(firstDifference(tensor.toFloat32Array(), expected)).toBeUndefined();
      const from = unitOf(dtype) * 3;
      expect(firstDifference(tensor.slice([from, null]).toFloat32Array(), expected.subarray(from))).toBeUndefined();
      if (bitsOf(dtype) < 8) continue;
      for (const step of [2, 3, 37, -1, -2]) {
        const picked = Uint32Array.from({ length: Math.ceil(count / Math.abs(step)) }, (_, i) =>
          step < 0 ? expected[count - 1 + i * step]! : expected[i * step]!,
        );
        expect(firstDifference(tensor.slice([null, null, step]).toFloat32Array(), picked)).toBeUndefined();
      }
    }
  });

  it.each([1, 2, 8])('the same off the event loop with up to %i threads', async (threads) => {
    binding.setKernel(kernel);
    using file = openSync(folder.write('table.safetensors', fileOfTable(0)));
    const results = await Promise.all(table.map(({ dtype }) => file.tensor(dtype).toFloat32({ threads })));
    table.forEach(({ expected }, i) => {
      expect(firstDifference(results[i]!, expected)).toBeUndefined();
    });
  });
});

describe.each<[string, () => SafeTensors]>([
  ['reads', () => openSync(join(folder.path, 'table.safetensors'), { backend: 'read' })],
  ['memory', () => parse(fileOfTable(0))],
  ['memory at odd addresses', () => parse(fileOfTable(1))],
])('through %s', (_, open) => {
  folder.write('table.safetensors', fileOfTable(0));

  it.each(table)('$dtype: every value, at once and in turns', async ({ dtype, expected }) => {
    using file = open();
    const tensor = file.tensor(dtype);
    expect(firstDifference(tensor.toFloat32Array(), expected)).toBeUndefined();
    expect(firstDifference(await tensor.toFloat32(), expected)).toBeUndefined();
  });
});

describe('strided conversions', () => {
  const WIDE = 3000; // elements of a row: some parts pass through native scratch memory more than once
  const noise = Uint8Array.from({ length: 24 * WIDE * 8 }, (_, i) => (Math.imul(i + 3, 0x9e3779b1) >>> 15) & 0xff);
  const header: Record<string, unknown> = {};
  const dtypes = DTYPES.filter(isConvertible);
  let end = 0;
  for (const dtype of dtypes) {
    const length = (24 * WIDE * bitsOf(dtype)) / 8;
    header[dtype] = { dtype, shape: [4, 6, WIDE], data_offsets: [end, end + length] };
    end += length;
  }
  const data = Buffer.concat(dtypes.map((dtype) => noise.subarray(0, (24 * WIDE * bitsOf(dtype)) / 8)));
  const path = folder.write('strided.safetensors', withHeader(JSON.stringify(header), data));
  const file = openSync(path);
  const reading = openSync(path, { backend: 'read' });
  afterAll(() => [file.close(), reading.close()]);

  const range = (size: number, unit: number) =>
    fc
      .tuple(fc.integer({ min: 0, max: size }), fc.integer({ min: 0, max: size }), fc.constantFrom(1, 1, 2, 3, -1, -5))
      .map(([a, b, step]) => {
        const low = Math.floor(Math.min(a, b) / unit) * unit;
        const high = Math.ceil(Math.max(a, b) / unit) * unit;
        if (unit > 1) return [low, high] as const;
        return step > 0 ? ([low, high, step] as const) : ([high - 1, low === 0 ? null : low - 1, step] as const);
      });

  it('equal a gather and then a conversion, in every kernel', async () => {
    const some = fc
      .constantFrom(...dtypes)
      .chain((dtype) =>
        fc.tuple(
          fc.constant(dtype),
          fc.constantFrom(...kernels),
          fc.tuple(range(4, 1), range(6, 1), range(WIDE, unitOf(dtype))),
        ),
      );
    await fc.assert(
      fc.asyncProperty(some, async ([dtype, kernel, indices]) => {
        binding.setKernel(kernel);
        const part = file.tensor(dtype).slice(...indices);
        const expected = new Float32Array(part.length);
        convertToFloat32(dtype, part.bytes, expected);
        const target = new Float32Array(part.length + 3).fill(7);
        expect(sameBytes(part.toFloat32Array(target), expected)).toBe(true);
        expect([...target.subarray(part.length)]).toEqual([7, 7, 7]);
        expect(sameBytes(await part.toFloat32(), expected)).toBe(true);
        const read = reading.tensor(dtype).slice(...indices);
        expect(sameBytes(read.toFloat32Array(), expected)).toBe(true);
        expect(sameBytes(await read.toFloat32(), expected)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});

// Holds what the reads of a strided slice cost: which bytes of the file, in how many calls, and that they are the right
// ones. Nothing is mapped here.
import { closeSync, openSync as openFile, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { openSync, type TensorView } from '../src/index.js';
import { writeSparse } from './lifetime/files.js';
import { counting, fileOf, scratch } from './support/files.js';

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>();
  return { ...fs, readSync: vi.fn(fs.readSync) };
});

const folder = scratch();
afterAll(() => folder.remove());

const reads = vi.mocked(readSync);

/** Bytes read and calls made by `run`. */
function costOf(run: () => void): { calls: number; bytes: number } {
  reads.mockClear();
  run();
  const results = reads.mock.results.map(({ value }) => Number(value));
  return { calls: results.length, bytes: results.reduce((sum, count) => sum + count, 0) };
}

const KiB = 2 ** 10;
const MiB = 2 ** 20;
const GiB = 2 ** 30;

describe('of a tensor of 1 GiB', () => {
  const path = join(folder.path, 'sparse.safetensors');
  writeSparse(path, { t: { dtype: 'U32', shape: [1024, 256, 1024], byteLength: GiB } });
  const file = openSync(path, { backend: 'read' });
  afterAll(() => file.close());
  const tensor = file.tensor('t') as TensorView<'U32'>;

  // Each row of the outermost dimension begins with its number.
  const descriptor = openFile(path, 'r+');
  const first = file.header.dataOffset;
  for (let row = 0; row < 1024; row++) writeSync(descriptor, Uint32Array.of(row + 1), 0, 4, first + row * MiB);
  closeSync(descriptor);
  const numbers = Uint32Array.from({ length: 1024 }, (_, row) => row + 1);

  it('elements far apart are read one by one', () => {
    const column = tensor.slice(null, 0, 0);
    const { calls, bytes } = costOf(() => expect(column.data).toEqual(numbers));
    expect([calls, bytes]).toEqual([1024, 4 * KiB]);
  });

  it('so are they from the last to the first', () => {
    const column = tensor.slice([null, null, -1], 0, 0);
    const { calls, bytes } = costOf(() => expect(column.data).toEqual(numbers.toReversed()));
    expect([calls, bytes]).toEqual([1024, 4 * KiB]);
  });

  it('long rows are read each in one call, and no gap between them', () => {
    const part = tensor.slice([null, null, 64], [0, 32]);
    const { calls, bytes } = costOf(() => expect(part.data[3 * 32 * 1024]).toBe(3 * 64 + 1));
    expect([calls, bytes]).toEqual([16, 16 * 128 * KiB]);
  });

  it('elements within a page of each other are read together', () => {
    const part = tensor.slice([5, 7], null, 0);
    const { calls, bytes } = costOf(() => expect([part.data[0], part.data[256]]).toEqual([6, 7]));
    expect(calls).toBe(2);
    expect(bytes).toBeLessThanOrEqual(2 * MiB);
  });

  it('every second element is read with its neighbours, a megabyte at a time', () => {
    const part = tensor.slice([8, 16], null, [null, null, 2]);
    const { calls, bytes } = costOf(() => expect(part.data[512 * 256]).toBe(10));
    expect(calls).toBeLessThanOrEqual(9);
    expect(bytes).toBeLessThanOrEqual(8 * MiB);
  });

  it('a conversion of columns reads no more than the columns', () => {
    const column = tensor.slice(null, [0, 1], [0, 2]);
    const { bytes } = costOf(() => expect(column.toFloat32Array()[2 * 1023]).toBe(1024));
    expect(bytes).toBe(8 * KiB);
  });
});

describe('of any strided part', () => {
  // Rows of a few bytes and of nearly 1 MiB, so that parts are read whole, in blocks, in rows and in elements.
  const SHAPES = [[3_000_017], [40, 70_001], [5, 3, 200_003], [2000, 37, 41], [3, 1_048_570], [6, 500_000]];
  const path = folder.write(
    'noise.safetensors',
    fileOf(SHAPES.map((shape, i) => ({ name: `t${i}`, dtype: 'U8', shape }))),
  );
  const data = counting(SHAPES.reduce((sum, shape) => sum + shape.reduce((product, size) => product * size, 1), 0));
  const file = openSync(path, { backend: 'read' });
  afterAll(() => file.close());

  const part = fc.integer({ min: 0, max: SHAPES.length - 1 }).chain((which) =>
    fc.record({
      which: fc.constant(which),
      indices: fc.tuple(
        ...SHAPES[which]!.map((size) =>
          fc
            .record({
              start: fc.integer({ min: 0, max: size - 1 }),
              count: fc.integer({ min: 1, max: 5000 }),
              step: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: size })),
              forward: fc.boolean(),
            })
            .map(({ start, count, step, forward }) => {
              const last = Math.min(size - 1, start + (count - 1) * step);
              return forward
                ? ([start, last + 1, step] as const)
                : ([last, start === 0 ? null : start - 1, -step] as const);
            }),
        ),
      ),
    }),
  );

  it('rows of half a megabyte are read in pairs', () => {
    const whole = file.tensor('t5');
    const rows = Array.from({ length: 6 }, (_, row) => [...whole.slice(row, [1, null]).bytes]);
    const target = new Uint8Array(6 * 499_999);
    const { calls } = costOf(() => whole.slice(null, [1, null]).copyTo(target));
    expect(calls).toBe(3);
    expect(Buffer.compare(target, Uint8Array.from(rows.flat()))).toBe(0);
  });

  it('the bytes are those of the plain walk, and the reads are bounded', () => {
    fc.assert(
      fc.property(part, ({ which, indices }) => {
        const shape = SHAPES[which]!;
        const whole = file.tensor(`t${which}`);
        const [begin, end] = whole.dataOffsets;
        const slice = whole.slice(...indices);
        if (slice.byteLength > MiB) return;
        let flat = [0];
        shape.forEach((size, dim) => {
          const [start, , step] = indices[dim]!;
          const positions = Array.from({ length: slice.shape[dim]! }, (_, i) => start + i * step);
          flat = flat.flatMap((base) => positions.map((position) => base * size + position));
        });
        const source = data.subarray(begin, end);
        const target = new Uint8Array(slice.byteLength);
        const { calls, bytes } = costOf(() => slice.copyTo(target));
        expect(
          Buffer.compare(
            target,
            Uint8Array.from(flat, (element) => source[element]!),
          ),
        ).toBe(0);
        expect(calls).toBeLessThanOrEqual(slice.length);
        expect(bytes).toBeLessThanOrEqual(Math.max(8 * slice.byteLength, 4 * KiB * slice.length));
      }),
      { numRuns: 150 },
    );
  });
});

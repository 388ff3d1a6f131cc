// Owns the addon's own check of runs against a mapping: whatever the numbers, it reads within it or refuses.
// Refuses to go by way of tensors, which never ask for such runs.

import { closeSync, openSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { nativeBinding } from '../../src/binding.js';
import { scratch } from '../support/files.js';

const SIZE = 257;
const CONTENT = Uint8Array.from({ length: SIZE }, (_, i) => i);
const MOST = Number.MAX_SAFE_INTEGER;

const folder = scratch();
afterAll(() => folder.remove());
const binding = nativeBinding();
const descriptor = openSync(folder.write('bytes', CONTENT), 'r');
const mapped = binding.map(descriptor, SIZE, true);
closeSync(descriptor);
if (typeof mapped === 'number') throw new Error(`errno ${mapped}`);
const handle = mapped;

const TARGET_BYTES = 4096;

/** The error's message, or the bytes. */
function gathered(offset: number, runBytes: number, counts: number[], strides: number[]): string | number[] {
  const target = new Uint8Array(TARGET_BYTES);
  try {
    expect(binding.gather(handle, offset, runBytes, counts, strides, target)).toBe(true);
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError);
    return (error as TypeError).message;
  }
  return [...target];
}

/** The same in numbers without limit. */
function expected(offset: number, runBytes: number, counts: number[], strides: number[]): string | number[] {
  let first = BigInt(offset);
  let last = BigInt(offset + runBytes);
  let total = BigInt(runBytes);
  for (const [i, count] of counts.entries()) {
    const reach = BigInt(count - 1) * BigInt(strides[i]!);
    if (reach < 0n) first += reach;
    else last += reach;
    total *= BigInt(count);
  }
  if (first < 0n || last > BigInt(SIZE)) return 'the runs leave the mapping';
  if (total >= 2n ** 63n) return 'the runs are more bytes than can be counted';
  if (total > BigInt(TARGET_BYTES)) return 'the target is too short';
  let starts = [offset];
  for (const [i, count] of counts.entries()) {
    starts = starts.flatMap((start) => Array.from({ length: count }, (_, at) => start + at * strides[i]!));
  }
  const bytes = starts.flatMap((start) => [...CONTENT.subarray(start, start + runBytes)]);
  return [...bytes, ...new Array<number>(TARGET_BYTES - bytes.length).fill(0)];
}

const LARGE = [2 ** 31, 2 ** 32, 2 ** 52, MOST - 1, MOST];
const anyCount = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 5 }) },
  { weight: 1, arbitrary: fc.constantFrom(...LARGE) },
);
const anyStride = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: -40, max: 40 }) },
  { weight: 1, arbitrary: fc.constantFrom(...LARGE, ...LARGE.map((stride) => -stride)) },
);
const anyDimension = fc.tuple(anyCount, anyStride);

it('reads the runs where they lie within, and refuses them where they do not', () => {
  const seen = new Set<string>();
  const offset = fc.integer({ min: 0, max: SIZE });
  const runBytes = fc.oneof(fc.integer({ min: 1, max: 16 }), fc.integer({ min: 1, max: SIZE }));
  const property = fc.property(offset, runBytes, fc.array(anyDimension, { maxLength: 5 }), (at, run, dimensions) => {
    const counts = dimensions.map(([count]) => count);
    const strides = dimensions.map(([, stride]) => stride);
    const right = expected(at, run, counts, strides);
    expect(gathered(at, run, counts, strides)).toEqual(right);
    seen.add(typeof right === 'string' ? right : 'bytes');
  });
  fc.assert(property, {
    numRuns: 2000,
    examples: [
      [0, 1, [[MOST, 0]]],
      [
        0,
        1,
        [
          [MOST, 0],
          [MOST, 0],
        ],
      ],
      [0, 1, [[2, SIZE - 1]]],
      [0, 1, [[2, SIZE]]],
      [SIZE - 1, 1, [[SIZE, -1]]],
      [SIZE - 1, 1, [[SIZE + 1, -1]]],
      [0, 1, [[MOST, MOST]]],
      [0, 1, [[MOST, -MOST]]],
      [
        0,
        1,
        [
          [2, 2 ** 52],
          [2, -(2 ** 52)],
        ],
      ],
      // Products that come round to 0 in 64 bits.
      [0, 1, [[2 ** 32 + 1, 2 ** 32]]],
      [0, 1, [[2 ** 52 + 1, 2 ** 52]]],
    ],
  });
  expect(seen.size).toBe(4);
});

it('adds up 64 dimensions, each as far as the mapping goes', () => {
  const all = <T>(value: T) => new Array<T>(64).fill(value);
  expect(gathered(0, 1, all(2), all(SIZE))).toBe('the runs leave the mapping');
  expect(gathered(SIZE - 1, 1, all(2), all(-SIZE))).toBe('the runs leave the mapping');
  expect(gathered(7, 1, all(1), all(MOST)).slice(0, 2)).toEqual([7, 0]);
  expect(gathered(0, 1, new Array<number>(65).fill(1), new Array<number>(65).fill(0))).toBe('too many dimensions');
});

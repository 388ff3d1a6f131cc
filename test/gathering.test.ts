// Holds the JavaScript gather against the plainest copy there is: at all alignments, widths and directions.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { gatherBytes, type StridedRuns } from '../src/gathering.js';

/** One byte at a time, by the definition. */
function naive(source: Uint8Array, { runBytes, counts, strides, offset }: StridedRuns): number[] {
  let starts = [offset];
  counts.forEach((count, dim) => {
    starts = starts.flatMap((from) => Array.from({ length: count }, (_, i) => from + i * strides[dim]!));
  });
  return starts.flatMap((start) => Array.from({ length: runBytes }, (_, i) => source[start + i]!));
}

function shifted(length: number, shift: number): Uint8Array {
  return new Uint8Array(new ArrayBuffer(length + shift), shift);
}

function noise(length: number, shift: number): Uint8Array {
  return shifted(length, shift).map((_, i) => (Math.imul(i + 7, 0x85ebca6b) >>> 11) & 0xff);
}

function copy(source: Uint8Array, runs: StridedRuns, shift: number): number[] {
  const total = runs.counts.reduce((product, count) => product * count, runs.runBytes);
  const target = shifted(total + 2, shift).fill(0xa5);
  gatherBytes(source, runs, target);
  expect([...target.subarray(total)]).toEqual([0xa5, 0xa5]);
  return [...target.subarray(0, total)];
}

describe('gatherBytes', () => {
  it('copies a single run when there are no counts', () => {
    expect(copy(noise(16, 0), { runBytes: 5, counts: [], strides: [], offset: 3 }, 0)).toEqual([
      ...noise(16, 0).subarray(3, 8),
    ]);
  });

  it('copies nothing for empty runs and empty dimensions', () => {
    expect(copy(new Uint8Array(0), { runBytes: 0, counts: [3], strides: [9], offset: 0 }, 0)).toEqual([]);
    expect(copy(new Uint8Array(0), { runBytes: 4, counts: [3, 0], strides: [9, 4], offset: 0 }, 0)).toEqual([]);
  });

  it('equals the naive copy', () => {
    const width = fc.constantFrom(1, 2, 3, 4, 6, 8, 12, 127, 128, 200);
    const dims = fc.array(fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: -3, max: 3 })), { maxLength: 4 });
    const shift = fc.integer({ min: 0, max: 7 });
    fc.assert(
      fc.property(width, dims, shift, shift, fc.boolean(), (runBytes, loops, sourceShift, targetShift, odd) => {
        const strides = loops.map(([, steps]) => steps * (odd ? 3 : runBytes));
        const counts = loops.map(([count]) => count);
        const reach = strides.map((stride, dim) => stride * (counts[dim]! - 1));
        const offset = -reach.filter((bytes) => bytes < 0).reduce((sum, bytes) => sum + bytes, 0);
        const length = reach.filter((bytes) => bytes > 0).reduce((sum, bytes) => sum + bytes, offset + runBytes);
        const source = noise(length, sourceShift);
        const runs = { runBytes, counts, strides, offset };
        expect(copy(source, runs, targetShift)).toEqual(naive(source, runs));
      }),
    );
  });

  it('walks more dimensions than a stack would like', () => {
    const counts = new Array<number>(20_000).fill(1);
    counts[7] = 3;
    const strides = new Array<number>(20_000).fill(0);
    strides[7] = -2;
    expect(copy(Uint8Array.of(1, 2, 3, 4, 5), { runBytes: 1, counts, strides, offset: 4 }, 0)).toEqual([5, 3, 1]);
  });

  it('refuses what is out of bounds', () => {
    const source = new Uint8Array(10);
    const target = new Uint8Array(8);
    const refused: [runs: StridedRuns, message: string][] = [
      [{ runBytes: 4, counts: [2], strides: [7], offset: 0 }, 'from byte 0 to 11 of a source of 10 bytes'],
      [{ runBytes: 2, counts: [2, 2], strides: [-3, 1], offset: 2 }, 'from byte -1 to 5 of a source of 10 bytes'],
      [{ runBytes: 9, counts: [], strides: [], offset: 1 }, '9 bytes, more than the 8 of the target'],
      [{ runBytes: 1, counts: [], strides: [], offset: Number.NaN }, 'from byte NaN to NaN'],
    ];
    for (const [runs, message] of refused) {
      expect(() => gatherBytes(source, runs, target)).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT', message: expect.stringContaining(message) }),
      );
    }
  });
});

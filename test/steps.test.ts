// Owns the cutting of ranges into steps: nothing lost, nothing twice, never across a multiple of a step.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { covers, largeRanges, STEP_BYTES, stepsOf } from '../src/steps.js';

const MiB = 2 ** 20;

/** Ascending ranges of some lengths with some gaps between. */
const anyRanges = fc
  .array(fc.tuple(fc.integer({ min: 1, max: 40 * MiB }), fc.integer({ min: 1, max: 30 * MiB })), { maxLength: 8 })
  .map((pairs) => {
    let at = 0;
    return pairs.flatMap(([gap, length]) => {
      const begin = at + gap;
      at = begin + length;
      return [begin, at];
    });
  });

/** The same bytes, with neighbours as one. */
function joined(ranges: readonly number[]): number[] {
  const result: number[] = [];
  for (let i = 0; i < ranges.length; i += 2) {
    if (result.at(-1) === ranges[i]) result[result.length - 1] = ranges[i + 1]!;
    else result.push(ranges[i]!, ranges[i + 1]!);
  }
  return result;
}

describe('stepsOf', () => {
  it('gives every byte once, in order, each step between two multiples of its length', () => {
    fc.assert(
      fc.property(anyRanges, (ranges) => {
        const part = { ranges };
        const steps = [...stepsOf(part)];
        expect(joined(steps.flatMap((step) => step.ranges))).toEqual(joined(ranges));
        const positions = steps.map((step) => Math.floor(step.ranges[0]! / STEP_BYTES));
        expect(positions).toEqual([...new Set(positions)].sort((a, b) => a - b));
        for (const [i, step] of steps.entries()) {
          expect(step.part).toBe(part);
          expect(step.ranges.at(-1)).toBeLessThanOrEqual((positions[i]! + 1) * STEP_BYTES);
          expect(step.byteLength).toBeLessThanOrEqual(STEP_BYTES);
        }
      }),
    );
  });

  it('takes ranges together that lie between the same two multiples', () => {
    const part = { ranges: [3, 9, 10, STEP_BYTES + 1] };
    expect([...stepsOf(part)]).toEqual([
      { part, position: 0, ranges: [3, 9, 10, STEP_BYTES], byteLength: STEP_BYTES - 4 },
      { part, position: STEP_BYTES, ranges: [STEP_BYTES, STEP_BYTES + 1], byteLength: 1 },
    ]);
    expect([...stepsOf({ ranges: [] })]).toEqual([]);
  });
});

it('covers asks whether every range lies within one of the others', () => {
  const outer = [0, 10, 20, 30];
  for (const inner of [[], [0, 10], [2, 3, 25, 30], [20, 21]]) expect(covers(outer, inner)).toBe(true);
  for (const inner of [
    [9, 11],
    [10, 20],
    [5, 25],
    [0, 10, 19, 30],
    [31, 32],
  ])
    expect(covers(outer, inner)).toBe(false);
  expect(covers([], [1, 2])).toBe(false);
});

it('largeRanges leaves out what no large page fits into, and counts', () => {
  expect(largeRanges([0, 2 * MiB - 1, 3 * MiB, 5 * MiB, 6 * MiB, 6 * MiB + 1])).toEqual([3 * MiB, 5 * MiB]);
  const many = Array.from({ length: 65 }, (_, i) => [i * 4 * MiB, i * 4 * MiB + 2 * MiB]).flat();
  expect(largeRanges(many.slice(0, 128))).toEqual(many.slice(0, 128));
  expect(largeRanges(many)).toEqual([0, many.at(-1)]);
});

// Holds how a region lies in bytes: contiguity, the runs of a plan, and where packed elements end inside a byte.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Dtype } from '../src/dtype.js';
import { SafeTensorsError } from '../src/errors.js';
import { type SliceIndex, sliceRegion } from '../src/indexing.js';
import { elementCount, gatherPlan, isContiguous, type Region, wholeRegion } from '../src/region.js';

function slice(shape: number[], ...indices: SliceIndex[]): Region {
  return sliceRegion(wholeRegion(shape), indices);
}

function misaligned(region: Region, dtype: Dtype): string {
  try {
    gatherPlan(region, dtype, 'w');
  } catch (error) {
    if (!(error instanceof SafeTensorsError)) throw error;
    expect(error).toMatchObject({ code: 'SUB_BYTE_MISALIGNED', tensor: 'w' });
    return error.message;
  }
  throw new Error('nothing was thrown');
}

describe('contiguity', () => {
  const regions: [what: string, region: Region, contiguous: boolean][] = [
    ['a whole tensor', slice([3, 4]), true],
    ['rows', slice([3, 4], [1, 3]), true],
    ['a part of one row', slice([3, 4], 1, [1, 3]), true],
    ['a part of one row, kept as a dimension', slice([3, 4], [1, 2], [1, 3]), true],
    ['one element', slice([3, 4], 1, 1), true],
    ['one element reached by steps', slice([3, 4], [null, null, -9], [1, null, 7]), true],
    ['nothing', slice([3, 4], null, [4, null, 2]), true],
    ['an empty tensor with dimensions beyond all bounds', slice([0, 2 ** 52, 2 ** 52]), true],
    ['a 0-d tensor', slice([]), true],
    ['columns', slice([3, 4], null, [1, 3]), false],
    ['every second row', slice([3, 4], [null, null, 2]), false],
    ['rows backwards', slice([3, 4], [null, null, -1]), false],
    ['everything backwards', slice([3, 4], [null, null, -1], [null, null, -1]), false],
  ];
  it.each(regions)('%s', (_, region, contiguous) => {
    expect(isContiguous(region)).toBe(contiguous);
    expect(gatherPlan(region, 'F32').counts.length === 0).toBe(contiguous);
  });
});

describe('a plan', () => {
  it('is one run for what is contiguous', () => {
    const plan = gatherPlan(slice([3, 4], [1]), 'F16');
    expect(plan).toEqual({
      runBytes: 16,
      counts: [],
      strides: [],
      offset: 8,
      byteLength: 16,
      minByte: 8,
      maxByte: 24,
    });
  });

  it('touches nothing for what is empty', () => {
    expect(elementCount(wholeRegion([...new Array<number>(30).fill(2 ** 52), 0]))).toBe(0);
    expect(gatherPlan(slice([3, 4], [3]), 'F4')).toMatchObject({ runBytes: 0, byteLength: 0, minByte: 0, maxByte: 0 });
  });

  it('joins inner dimensions into the run and outer ones into one loop', () => {
    expect(gatherPlan(slice([2, 3, 4, 5], null, null, [1, 3]), 'F32')).toMatchObject({
      runBytes: 40,
      counts: [6],
      strides: [80],
      offset: 20,
      byteLength: 240,
      minByte: 20,
      maxByte: 460,
    });
  });

  it('reads backwards where a stride is negative', () => {
    expect(gatherPlan(slice([2, 3], [null, null, -1], [null, null, -1]), 'U8')).toMatchObject({
      runBytes: 1,
      counts: [6],
      strides: [-1],
      offset: 5,
      minByte: 0,
      maxByte: 6,
    });
    expect(gatherPlan(slice([4, 3], [null, null, -2]), 'U16')).toMatchObject({
      runBytes: 6,
      counts: [2],
      strides: [-12],
      offset: 18,
      minByte: 6,
      maxByte: 24,
    });
  });

  it('stays exact for a tensor of the largest size', () => {
    const plan = gatherPlan(slice([2 ** 25, 2 ** 24], [null, null, -1], [1, 3]), 'C64');
    expect(plan).toMatchObject({ runBytes: 16, counts: [2 ** 25], strides: [-(2 ** 27)], minByte: 8 });
    expect(plan.maxByte).toBe(2 ** 52 - 2 ** 27 + 24);
  });

  it('has only loops that turn and no two that are one', () => {
    const bound = fc.option(fc.integer({ min: -5, max: 5 }));
    const step = fc.constantFrom(null, -2, -1, 1, 2, 3);
    const cases = fc.tuple(
      fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 4, maxLength: 4 }),
      fc.array(fc.tuple(bound, bound, step), { maxLength: 4 }),
    );
    fc.assert(
      fc.property(cases, ([shape, indices]) => {
        const region = slice(shape, ...indices);
        const { counts, strides, runBytes, byteLength, minByte, maxByte } = gatherPlan(region, 'I64');
        expect(byteLength).toBe(elementCount(region) * 8);
        expect(counts.every((count) => count > 1)).toBe(true);
        for (let i = 1; i < counts.length; i++) expect(strides[i - 1]).not.toBe(strides[i]! * counts[i]!);
        if (counts.length > 0) expect(strides.at(-1)).not.toBe(runBytes);
        expect(minByte).toBeGreaterThanOrEqual(0);
        expect(maxByte).toBeLessThanOrEqual(elementCount(wholeRegion(shape)) * 8);
      }),
    );
  });
});

describe('packed dtypes', () => {
  it('slice where runs start and end on bytes', () => {
    expect(gatherPlan(slice([4, 3], [2, 4]), 'F4')).toMatchObject({ offset: 3, runBytes: 3 });
    expect(gatherPlan(slice([3, 8], null, [4]), 'F6_E3M2')).toMatchObject({
      runBytes: 3,
      counts: [3],
      strides: [6],
      offset: 3,
      byteLength: 9,
      maxByte: 18,
    });
    expect(gatherPlan(slice([4, 4], [null, null, -2], [2]), 'F4')).toMatchObject({
      strides: [-4],
      offset: 7,
      minByte: 3,
    });
  });

  it('may go through odd places when the end result does not', () => {
    const odd = slice([4, 3], 1);
    expect(misaligned(odd, 'F4')).toContain('dimension 0 of size 4');
    expect(gatherPlan(sliceRegion(odd, [[1]]), 'F4')).toMatchObject({ offset: 2, runBytes: 1 });
  });

  const wrong: [region: Region, dtype: Dtype, message: string][] = [
    [
      slice([8], [1]),
      'F4',
      'dimension 0 of size 8: the slice starts at element 1, inside a byte (F4 has 4 bits an element)',
    ],
    [
      slice([4, 3], 1),
      'F4',
      'dimension 0 of size 4: the slice starts at element 3, inside a byte (F4 has 4 bits an element)',
    ],
    [
      slice([2, 3, 8], 1, 1, [2, 6]),
      'F6_E2M3',
      'dimension 2 of size 8: the slice starts at element 34, inside a byte (F6_E2M3 has 6 bits an element)',
    ],
    [
      slice([4, 3, 2], 1, 2),
      'F6_E2M3',
      'dimension 0 of size 4: the slice starts at element 10, inside a byte (F6_E2M3 has 6 bits an element)',
    ],
    [
      slice([4, 8], null, [0, 3]),
      'F4',
      'dimension 1 of size 8: runs of 3 consecutive elements end inside a byte (F4 has 4 bits an element)',
    ],
    [
      slice([8, 3], [0, 3]),
      'F4',
      'dimension 0 of size 8: runs of 9 consecutive elements end inside a byte (F4 has 4 bits an element)',
    ],
    [
      slice([2, 4, 5], null, 0),
      'F4',
      'dimension 1 of size 4: runs of 5 consecutive elements end inside a byte (F4 has 4 bits an element)',
    ],
    [
      slice([2, 8], null, [null, null, 2]),
      'F4',
      'dimension 1 of size 8: runs of 1 consecutive elements end inside a byte (F4 has 4 bits an element)',
    ],
    [
      slice([8, 1], -2),
      'F6_E3M2',
      'dimension 0 of size 8: the slice starts at element 6, inside a byte (F6_E3M2 has 6 bits an element)',
    ],
    [
      slice([8, 1], 4),
      'F6_E3M2',
      'dimension 0 of size 8: runs of 1 consecutive elements end inside a byte (F6_E3M2 has 6 bits an element)',
    ],
    [
      slice([4, 5], null, [0, 4]),
      'F4',
      'dimension 0 of size 4: steps of 5 elements lead inside a byte (F4 has 4 bits an element)',
    ],
    [
      slice([4, 6], [null, null, -1], [0, 4]),
      'F6_E2M3',
      'dimension 0 of size 4: the slice starts at element 18, inside a byte (F6_E2M3 has 6 bits an element)',
    ],
    [
      slice([3, 4, 6], [null, null, -1], [0, 4, 1], [0, 4]),
      'F6_E2M3',
      'dimension 1 of size 4: steps of 6 elements lead inside a byte (F6_E2M3 has 6 bits an element)',
    ],
  ];
  it.each(wrong)('case %#', (region, dtype, message) => {
    expect(misaligned(region, dtype)).toBe(`tensor "w": ${message}`);
  });

  it('does not blame a tensor that has no name', () => {
    expect(() => gatherPlan(slice([8], [1]), 'F4')).toThrow(/^dimension 0 of size 8/);
  });
});

// Holds the rules of indices and shards one by one, with their errors, and composition in general.
// Agreement with numpy at large is slice_reference.test.ts.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SafeTensorsError } from '../src/errors.js';
import { type ShardOptions, type SliceIndex, shardRegion, sliceRegion } from '../src/indexing.js';
import { elementCount, type Region, wholeRegion } from '../src/region.js';

/** Numbers of the region's elements in the tensor, in C order, by the definition of strides. */
function elementsOf(region: Region): number[] {
  let found = [region.offset];
  region.shape.forEach((size, dim) => {
    found = found.flatMap((from) => Array.from({ length: size }, (_, i) => from + i * region.strides[dim]!));
  });
  return found;
}

function pick(shape: number[], ...indices: SliceIndex[]): { shape: readonly number[]; elements: number[] } {
  const region = sliceRegion(wholeRegion(shape), indices);
  return { shape: region.shape, elements: elementsOf(region) };
}

function failure(action: () => unknown): { code: string; message: string; tensor: string | undefined } {
  try {
    action();
  } catch (error) {
    if (!(error instanceof SafeTensorsError)) throw error;
    return { code: error.code, message: error.message, tensor: error.tensor };
  }
  throw new Error('nothing was thrown');
}

const BIG = 2 ** 53;

describe('an index of one dimension', () => {
  const rules: [rule: string, size: number, index: SliceIndex, shape: number[], elements: number[]][] = [
    ['integer', 5, 2, [], [2]],
    ['first from the end', 5, -1, [], [4]],
    ['last from the end', 5, -5, [], [0]],
    ['minus zero', 5, -0, [], [0]],
    ['null', 3, null, [3], [0, 1, 2]],
    ['empty array', 3, [], [3], [0, 1, 2]],
    ['start alone', 5, [3], [2], [3, 4]],
    ['negative start', 5, [-2], [2], [3, 4]],
    ['stop alone', 5, [null, 2], [2], [0, 1]],
    ['negative stop', 5, [null, -2], [3], [0, 1, 2]],
    ['stop beyond the end', 5, [0, 11], [5], [0, 1, 2, 3, 4]],
    ['start beyond the end', 5, [7], [0], []],
    ['start below the beginning', 3, [-9], [3], [0, 1, 2]],
    ['stop before start', 5, [4, 2], [0], []],
    ['step', 5, [null, null, 2], [3], [0, 2, 4]],
    ['step that leaves a rest', 6, [1, null, 4], [2], [1, 5]],
    ['negative step', 4, [null, null, -1], [4], [3, 2, 1, 0]],
    ['negative step down to the first', 5, [3, null, -2], [2], [3, 1]],
    ['negative step with a stop', 5, [-1, 1, -1], [3], [4, 3, 2]],
    ['negative step, stop -1 is the last', 5, [3, -1, -1], [0], []],
    ['negative step from beyond', 3, [99, -99, -1], [3], [2, 1, 0]],
    ['largest bounds', 3, [-BIG, BIG], [3], [0, 1, 2]],
    ['largest step', 3, [1, null, BIG], [1], [1]],
    ['largest negative step', 3, [null, null, -BIG], [1], [2]],
    ['whole of an empty one', 0, [null, null, -1], [0], []],
    ['part of an empty one', 0, [0, 5], [0], []],
  ];
  it.each(rules)('%s: size %j, index %j', (_, size, index, shape, elements) => {
    expect(pick([size], index)).toEqual({ shape, elements: elements });
  });

  it('takes undefined in an array for null', () => {
    expect(pick([4], [undefined, 2] as unknown as SliceIndex)).toEqual({ shape: [2], elements: [0, 1] });
  });

  it('never leaves safe integers, whatever the size', () => {
    const region = sliceRegion(wholeRegion([Number.MAX_SAFE_INTEGER]), [[-BIG, BIG, BIG - 1]]);
    expect(region).toMatchObject({ shape: [1], offset: 0 });
    const last = sliceRegion(wholeRegion([Number.MAX_SAFE_INTEGER]), [[null, null, -3]]);
    expect(last).toMatchObject({ shape: [3002399751580331], strides: [-3], offset: Number.MAX_SAFE_INTEGER - 1 });
    const once = sliceRegion(sliceRegion(last, [[7, null, 1e300]]), [[null, null, 1e300]]);
    expect(once).toMatchObject({ shape: [1], offset: Number.MAX_SAFE_INTEGER - 22 });
    expect(sliceRegion(once, [0]).offset).toBe(once.offset);
  });
});

describe('indices of several dimensions', () => {
  it('leaves dimensions without an index whole', () => {
    expect(pick([2, 3], 1)).toEqual({ shape: [3], elements: [3, 4, 5] });
    expect(pick([2, 3]).shape).toEqual([2, 3]);
    expect(pick([])).toEqual({ shape: [], elements: [0] });
  });

  it("lets '...' stand for as many as are left, none among them", () => {
    expect(pick([2, 3, 4], '...', 1).elements).toEqual([1, 5, 9, 13, 17, 21]);
    expect(pick([2, 3, 4], 1, '...', [0, 2]).shape).toEqual([3, 2]);
    expect(pick([2, 3], 1, '...', 2)).toEqual({ shape: [], elements: [5] });
    expect(pick([], '...')).toEqual({ shape: [], elements: [0] });
  });

  it('gives an empty region no way to lead anywhere', () => {
    const whole = wholeRegion([0, BIG - 1, BIG - 1]);
    expect(whole).toMatchObject({ strides: [0, 0, 0], offset: 0 });
    expect(sliceRegion(whole, [null, [1, null, 2], -1])).toMatchObject({ shape: [0, 2 ** 52 - 1], offset: 0 });
    expect(elementCount(whole)).toBe(0);
    expect(sliceRegion(wholeRegion([4, 4]), [3, [4]])).toMatchObject({ shape: [0], strides: [0], offset: 0 });
  });

  it('freezes what it gives and leaves alone what it got', () => {
    const shape = [2, 3];
    const region = sliceRegion(wholeRegion(shape), [null, [1]]);
    expect(Object.isFrozen(shape)).toBe(false);
    for (const part of [region, region.shape, region.strides, region.base]) expect(Object.isFrozen(part)).toBe(true);
  });
});

describe('errors', () => {
  const wrong: [indices: unknown[], message: string][] = [
    [[4], 'dimension 0 of size 4: index 4 is out of range: the limits are -4 and 3'],
    [[0, -4], 'dimension 1 of size 3: index -4 is out of range: the limits are -3 and 2'],
    [[0, 0, 0], 'dimension 2 of size 0: index 0 is out of range: it has no elements'],
    [['...', BIG, null], 'dimension 1 of size 3: index 9007199254740992 is out of range: the limits are -3 and 2'],
    [[0, 0, [], 0], 'too many indices: 4, and the number of dimensions is 3'],
    [['...', 0, 0, [], 0], 'too many indices: 4, and the number of dimensions is 3'],
    [['...', 0, '...'], "'...' may stand only once among the indices"],
    [[null, [0, 1, 0]], 'dimension 1 of size 3: step must not be 0'],
    [[[0, 1, -0]], 'dimension 0 of size 4: step must not be 0'],
    [[1.5], 'dimension 0 of size 4: index 1.5 is not an integer'],
    [[Number.NaN], 'dimension 0 of size 4: index NaN is not an integer'],
    [[Number.POSITIVE_INFINITY], 'dimension 0 of size 4: index Infinity is not an integer'],
    [[[0.5]], 'dimension 0 of size 4: start 0.5 is not an integer'],
    [[[0, Number.POSITIVE_INFINITY]], 'dimension 0 of size 4: stop Infinity is not an integer'],
    [[[0, 1, Number.NaN]], 'dimension 0 of size 4: step NaN is not an integer'],
    [[['1\n']], 'dimension 0 of size 4: start "1\\n" is not an integer'],
    [[[1n]], 'dimension 0 of size 4: start 1n is not an integer'],
    [['1'], `dimension 0 of size 4: "1" is no index; a number, null, '...' or [start, stop, step] is`],
    [[2n], `dimension 0 of size 4: 2n is no index; a number, null, '...' or [start, stop, step] is`],
    [[true], `dimension 0 of size 4: true is no index; a number, null, '...' or [start, stop, step] is`],
    [[undefined], `dimension 0 of size 4: undefined is no index; a number, null, '...' or [start, stop, step] is`],
    [[{}], `dimension 0 of size 4: an object is no index; a number, null, '...' or [start, stop, step] is`],
    [[Symbol()], `dimension 0 of size 4: a symbol is no index; a number, null, '...' or [start, stop, step] is`],
    [
      [[0, 1, 1, 1]],
      `dimension 0 of size 4: an array of 4 is no index; a number, null, '...' or [start, stop, step] is`,
    ],
    [[[[0]]], 'dimension 0 of size 4: start an array of 1 is not an integer'],
  ];
  it.each(wrong)('case %#', (indices, message) => {
    const whole = wholeRegion([4, 3, 0]);
    const slice = (): Region => sliceRegion(whole, indices as SliceIndex[]);
    expect(failure(slice)).toEqual({ code: 'INVALID_SLICE', message, tensor: undefined });
  });

  it('names the tensor where it is told the name', () => {
    expect(failure(() => sliceRegion(wholeRegion([]), [0], 'a"b'))).toEqual({
      code: 'INVALID_SLICE',
      message: 'tensor "a\\"b": too many indices: 1, and the number of dimensions is 0',
      tensor: 'a"b',
    });
    expect(failure(() => shardRegion(wholeRegion([3]), { dim: 0, rank: 0, of: 2 }, 'w'))).toMatchObject({
      tensor: 'w',
    });
  });
});

describe('a shard', () => {
  it('is the equal part of the rank', () => {
    const whole = wholeRegion([4, 6]);
    expect(elementsOf(shardRegion(whole, { dim: 0, rank: 1, of: 2 }))).toEqual(elementsOf(sliceRegion(whole, [[2]])));
    expect(shardRegion(whole, { dim: -1, rank: 2, of: 3 })).toMatchObject({
      shape: [4, 2],
      strides: [6, 1],
      offset: 4,
    });
  });

  it('may differ by one when uneven, the first ranks having more', () => {
    const sizes = [0, 1, 2, 3].map((rank) => {
      const { shape, offset } = shardRegion(wholeRegion([10]), { dim: 0, rank, of: 4, uneven: true });
      return [offset, shape[0]];
    });
    expect(sizes).toEqual([[0, 3], [3, 3], [6, 2], [8, 2]]); // biome-ignore format: one line shows the parts
    expect(shardRegion(wholeRegion([2]), { dim: 0, rank: 3, of: 4, uneven: true }).shape).toEqual([0]);
    expect(shardRegion(wholeRegion([0]), { dim: 0, rank: 3, of: 4 }).shape).toEqual([0]);
  });

  const wrong: [options: unknown, message: string][] = [
    [
      { dim: 0, rank: 0, of: 3 },
      'dimension 0 of size 4 does not divide into 3 equal parts; uneven: true allows others',
    ],
    [{ dim: 2, rank: 0, of: 2 }, 'dim 2 is not a dimension: the limits are -2 and 1'],
    [{ dim: -3, rank: 0, of: 2 }, 'dim -3 is not a dimension: the limits are -2 and 1'],
    [{ rank: 0, of: 2 }, 'dim undefined is not a dimension: the limits are -2 and 1'],
    [{ dim: 0.5, rank: 0, of: 2 }, 'dim 0.5 is not a dimension: the limits are -2 and 1'],
    [{ dim: 0, rank: 2, of: 2 }, 'dimension 0 of size 4: rank must be an integer from 0 to 1, not 2'],
    [{ dim: 0, rank: -1, of: 2 }, 'dimension 0 of size 4: rank must be an integer from 0 to 1, not -1'],
    [{ dim: 0, rank: '0', of: 2 }, 'dimension 0 of size 4: rank must be an integer from 0 to 1, not "0"'],
    [{ dim: 0, rank: 0, of: 0 }, 'dimension 0 of size 4: of must be an integer of at least 1, not 0'],
    [{ dim: 0, rank: 0, of: 1.5 }, 'dimension 0 of size 4: of must be an integer of at least 1, not 1.5'],
    [{ dim: 0, rank: 0, of: Infinity }, 'dimension 0 of size 4: of must be an integer of at least 1, not Infinity'],
  ];
  it.each(wrong)('refuses %j', (options, message) => {
    const shard = (): Region => shardRegion(wholeRegion([4, 5]), options as ShardOptions);
    expect(failure(shard)).toEqual({ code: 'INVALID_SLICE', message, tensor: undefined });
  });

  it('refuses any dim of a 0-d tensor', () => {
    const shard = (): Region => shardRegion(wholeRegion([]), { dim: 0, rank: 0, of: 1 });
    expect(failure(shard).message).toBe('dim 0 is not a dimension: there are no dimensions');
  });
});

describe('in general', () => {
  const bound = fc.oneof(fc.constant(null), fc.integer({ min: -9, max: 9 }));
  const step = fc.integer({ min: -3, max: 3 }).map((n) => (n === 0 ? null : n));
  const range: fc.Arbitrary<SliceIndex> = fc.tuple(bound, bound, step);
  const sizes = fc.array(fc.integer({ min: 0, max: 6 }), { maxLength: 4 });
  const modest = (rank: number): fc.Arbitrary<SliceIndex[]> => fc.array(range, { maxLength: rank });

  it('a slice of a slice is the slice of what the first one gave', () => {
    const twice = sizes.chain((shape) => fc.tuple(fc.constant(shape), modest(shape.length), modest(shape.length)));
    fc.assert(
      fc.property(twice, ([shape, first, second]) => {
        const once = sliceRegion(wholeRegion(shape), first);
        const collected = elementsOf(once);
        const composed = elementsOf(sliceRegion(once, second));
        const sequential = elementsOf(sliceRegion(wholeRegion(once.shape), second));
        expect(composed).toEqual(sequential.map((element) => collected[element]));
      }),
    );
  });

  it('the shards of all ranks are the whole', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 1, max: 12 }), (size, of) => {
        const whole = wholeRegion([size, 2]);
        const parts = Array.from({ length: of }, (_, rank) => shardRegion(whole, { dim: 0, rank, of, uneven: true }));
        expect(parts.flatMap(elementsOf)).toEqual(elementsOf(whole));
        const lengths = parts.map((part) => part.shape[0]!);
        expect(Math.max(...lengths) - Math.min(...lengths)).toBeLessThanOrEqual(1);
      }),
    );
  });
});

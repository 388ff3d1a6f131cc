// Owns the histogram's arithmetic and the cutting of tensors into pieces. Refuses HTTP.

import { describe, expect, it } from 'vitest';
import { histogramOf } from '../../../examples/server/histogram.js';
import { evenly, piecesOf } from '../../../examples/server/pieces.js';
import { parse, serialize, type TensorInput, type TensorView } from '../../../src/index.js';

const never = new AbortController().signal;
const tensorOf = (input: TensorInput): TensorView => parse(serialize({ t: input })).tensor('t');
const floats = (shape: number[], value: (index: number) => number): TensorView => {
  const length = shape.reduce((product, dimension) => product * dimension, 1);
  return tensorOf({ dtype: 'F32', shape, data: Float32Array.from({ length }, (_, i) => value(i)) });
};

describe('piecesOf', () => {
  it.each([
    [[10], 4],
    [[1, 1, 10], 3],
    [[3, 4, 5], 5],
    [[3, 4, 5], 7],
    [[3, 4, 5], 20],
    [[3, 4, 5], 45],
    [[3, 4, 5], 60],
    [[7, 1, 3], 1],
    [[2, 3, 2, 3], 4],
    [[], 1],
    [[0, 5], 3],
  ])('of shape %j, at most %i elements each, are the whole tensor in order', (shape, most) => {
    const tensor = floats(shape, (i) => i);
    const pieces = piecesOf(tensor, most);
    const found = Array.from({ length: pieces.count }, (_, index) => pieces.piece(index));
    for (const piece of found) {
      expect(piece.length).toBeLessThanOrEqual(most);
      expect(piece.isView).toBe(true);
    }
    expect(found.flatMap((piece) => [...piece.toFloat32Array()])).toEqual([...tensor.toFloat32Array()]);
  });

  it('are chosen evenly where there are many', () => {
    expect(evenly(3, 5)).toEqual([0, 1, 2]);
    expect(evenly(100, 4)).toEqual([12, 37, 62, 87]);
    expect(new Set(evenly(65, 64)).size).toBe(64);
  });
});

describe('histogramOf', () => {
  it('counts every value of a small tensor', async () => {
    const found = await histogramOf(
      floats([4, 25], (i) => i),
      10,
      never,
    );
    expect(found).toMatchObject({
      elements: 100,
      counted: 100,
      notFinite: 0,
      min: 0,
      max: 99,
      mean: 49.5,
      from: 0,
      to: 99,
    });
    expect(found.deviation).toBeCloseTo(Math.sqrt((100 ** 2 - 1) / 12), 10);
    expect(found.bins).toEqual(new Array(10).fill(10));
  });

  it('keeps one stray value from squeezing the others, and counts it all the same', async () => {
    const found = await histogramOf(
      floats([1000], (i) => (i === 500 ? 1e6 : i % 2)),
      8,
      never,
    );
    expect(found.max).toBe(1e6);
    expect(found.to).toBeLessThan(1e6);
    expect(found.bins.reduce((sum, count) => sum + count, 0)).toBe(1000);
    expect(found.bins.at(-1)).toBe(1);
  });

  it('leaves out what is not finite, and has an answer where nothing else is there', async () => {
    const odd = [Number.NaN, Infinity, -Infinity, 2];
    expect(
      await histogramOf(
        floats([4], (i) => odd[i]!),
        8,
        never,
      ),
    ).toMatchObject({ counted: 4, notFinite: 3, min: 2, max: 2, deviation: 0, bins: [1] });
    const nothing = { min: null, max: null, mean: null, deviation: null, from: null, to: null, bins: [] };
    expect(
      await histogramOf(
        floats([3], (i) => odd[i]!),
        8,
        never,
      ),
    ).toMatchObject({ notFinite: 3, ...nothing });
    expect(
      await histogramOf(
        floats([0], () => 0),
        8,
        never,
      ),
    ).toMatchObject({ elements: 0, counted: 0, ...nothing });
  });

  it('holds the largest floats without overflow', async () => {
    const most = 3.4028234663852886e38;
    const found = await histogramOf(
      floats([2], (i) => (i === 0 ? most : -most)),
      4,
      never,
    );
    expect(found).toMatchObject({ mean: 0, deviation: most, bins: [1, 0, 0, 1] });
  });

  it('looks at a part of a large tensor, evenly, and says how much', async () => {
    const most = 65_536 * 64;
    const data = new Uint8Array(3 * most).fill(7);
    const found = await histogramOf(tensorOf({ dtype: 'U8', shape: [3, most], data }), 2, never);
    expect(found).toMatchObject({ elements: 3 * most, counted: most, mean: 7, bins: [most] });
  });

  it('ends with the reason of an abort', async () => {
    const reason = new Error('gone');
    await expect(
      histogramOf(
        floats([9], (i) => i),
        8,
        AbortSignal.abort(reason),
      ),
    ).rejects.toBe(reason);
  });
});

// Owns the choice of tensors by name: which ranges of the file they are, and which names are refused.

import { describe, expect, it } from 'vitest';
import { parse, type TensorNames } from '../src/index.js';
import { namesOf, rangesOf } from '../src/selection.js';
import { fileOf } from './support/files.js';
import { codeOf } from './support/outcome.js';

const { header } = parse(
  fileOf([
    { name: 'a', dtype: 'U8', shape: [8] },
    { name: 'b', dtype: 'U8', shape: [4] },
    { name: 'none', dtype: 'U8', shape: [0] },
    { name: 'c', dtype: 'U8', shape: [2] },
  ]),
);
const at = (...offsets: number[]) => offsets.map((offset) => header.dataOffset + offset);

describe('rangesOf', () => {
  it.each<[string[] | undefined, number[]]>([
    [undefined, [0, 14]],
    [[], []],
    [['none'], []],
    [['b'], [8, 12]],
    [
      ['c', 'a'],
      [0, 8, 12, 14],
    ],
    [
      ['c', 'none', 'b', 'c', 'b'],
      [8, 14],
    ],
  ])('of %j', (names, offsets) => {
    expect(rangesOf(header, names)).toEqual(at(...offsets));
  });

  it('of a name that is not there is TENSOR_NOT_FOUND', async () => {
    expect(await codeOf(() => rangesOf(header, ['a', 'd']))).toBe('TENSOR_NOT_FOUND');
  });

  it('of all in a file without bytes is nothing', () => {
    const empty = parse(fileOf([{ name: 'none', dtype: 'F32', shape: [0] }]));
    expect([rangesOf(empty.header, undefined), rangesOf(parse(fileOf([])).header, undefined)]).toEqual([[], []]);
  });
});

describe('namesOf', () => {
  it('takes a name, any iterable of names, or nothing', () => {
    const generator = (function* () {
      yield 'x';
      yield 'yy';
    })();
    expect([
      namesOf('xy'),
      namesOf(['x']),
      namesOf(new Set(['x', 'y'])),
      namesOf(generator),
      namesOf(undefined),
    ]).toEqual([['xy'], ['x'], ['x', 'y'], ['x', 'yy'], undefined]);
  });

  it.each([null, 5, true, {}, [1], ['a', undefined], [Symbol('a')], () => 'a', { [Symbol.iterator]: 1 }])(
    'refuses %o',
    async (names) => {
      expect(await codeOf(() => namesOf(names as TensorNames))).toBe('INVALID_ARGUMENT');
    },
  );

  it('refuses an iterable without an end', async () => {
    const endless = { [Symbol.iterator]: () => ({ next: () => ({ done: false as const, value: 'a' }) }) };
    expect(await codeOf(() => namesOf(endless))).toBe('INVALID_ARGUMENT');
  });

  it('lets through what an iterable throws', () => {
    const failing = {
      // biome-ignore lint/correctness/useYield: it throws before
      *[Symbol.iterator](): Generator<string> {
        throw new RangeError('mine');
      },
    };
    expect(() => namesOf(failing)).toThrow(new RangeError('mine'));
  });
});

// Owns what a conversion asks of its caller, at once or off the event loop: a dtype with numbers, and a target of its own.
// What happens to one under way is held in conversion.test.ts.
import { afterAll, describe, expect, it } from 'vitest';
import { PIECE_ELEMENTS } from '../src/conversion.js';
import type { TensorView } from '../src/index.js';
import { DOORS, doorsTo, sameBytes } from './support/doors.js';
import { scratch } from './support/files.js';
import { codeOf, failureOf } from './support/outcome.js';

const folder = scratch();
afterAll(() => folder.remove());

const open = doorsTo(
  [
    { name: 'small', dtype: 'I16', shape: [6] },
    { name: 'empty', dtype: 'BF16', shape: [0, 3] },
    { name: 'complex', dtype: 'C64', shape: [2] },
    { name: 'long', dtype: 'U8', shape: [32, PIECE_ELEMENTS / 16] },
    { name: 'after', dtype: 'U8', shape: [PIECE_ELEMENTS * 8] },
  ],
  folder,
);

/** Parts that are converted in two pieces: one run, runs of rows, single elements. */
const PARTS: Readonly<Record<string, (long: TensorView) => TensorView>> = {
  'a whole tensor': (long) => long,
  'a contiguous part': (long) => long.slice([1, -1]),
  columns: (long) => long.slice(null, [7, -100]),
  'every second element, backwards': (long) => long.slice(null, [null, null, -2]),
};

describe.each(DOORS)('through %s', (door) => {
  const file = open(door);
  afterAll(() => file.close());
  const small = file.tensor('small');
  const numbers = [513, 1027, 1541, 2055, 2569, 3083];
  /** Both ways, for what they have in common. */
  const ways: [string, (tensor: TensorView, target?: Float32Array) => Promise<Float32Array>][] = [
    ['toFloat32Array', async (tensor, target) => tensor.toFloat32Array(target)],
    ['toFloat32', (tensor, target) => tensor.toFloat32({ ...(target === undefined ? {} : { target }) })],
  ];

  describe.each(ways)('%s', (_, convert) => {
    it('makes an array of its own without a target', async () => {
      const floats = await convert(small);
      expect([...floats]).toEqual(numbers);
      expect(floats.buffer.byteLength).toBe(24);
      floats[0] = 9;
      expect((await convert(small))[0]).toBe(513);
    });

    it('fills a target of the length and returns it', async () => {
      const target = new Float32Array(6);
      expect(await convert(small, target)).toBe(target);
      expect([...target]).toEqual(numbers);
    });

    it('fills the beginning of a longer target and returns that', async () => {
      const memory = new Float32Array(9).fill(-1);
      const floats = await convert(small, memory.subarray(1));
      expect([floats.buffer, floats.byteOffset, floats.length]).toEqual([memory.buffer, 4, 6]);
      expect([...memory]).toEqual([-1, ...numbers, -1, -1]);
    });

    it('fills shared memory', async () => {
      const target = new Float32Array(new SharedArrayBuffer(32), 4);
      expect([...(await convert(small, target))]).toEqual(numbers);
      expect([...target]).toEqual([...numbers, 0]);
    });

    it('refuses a target that is too short, or gone', async () => {
      const { code, message, tensor } = await failureOf(() => convert(small, new Float32Array(5)));
      expect([code, tensor]).toEqual(['INVALID_ARGUMENT', 'small']);
      expect(message).toBe('tensor "small" has 6 elements, the target 5');
      const gone = new Float32Array(6);
      structuredClone(gone.buffer, { transfer: [gone.buffer] });
      expect(await codeOf(() => convert(small, gone))).toBe('INVALID_ARGUMENT');
    });

    it.each([
      null,
      7,
      [],
      new Float64Array(6),
      new Uint8Array(24),
      new ArrayBuffer(24),
      new DataView(new ArrayBuffer(24)),
    ])('refuses %o as a target', async (target) => {
      expect(await codeOf(() => convert(small, target as unknown as Float32Array))).toBe('INVALID_ARGUMENT');
    });

    it('gives nothing for nothing', async () => {
      const empty = file.tensor('empty');
      expect(await convert(empty)).toEqual(new Float32Array(0));
      const target = new Float32Array(3).fill(5);
      expect((await convert(empty, target)).length).toBe(0);
      expect((await convert(small.slice([2, 2]), target)).length).toBe(0);
      expect([...target]).toEqual([5, 5, 5]);
    });

    it('refuses complex numbers', async () => {
      for (const part of [file.tensor('complex'), file.tensor('complex').slice([0, 0])]) {
        const { code, message } = await failureOf(() => convert(part));
        expect([code, message]).toEqual(['INVALID_ARGUMENT', expect.stringMatching(/"complex" .*C64/)]);
      }
    });

    it('refuses a closed file', async () => {
      const closed = open(door);
      const tensors = [closed.tensor('small'), closed.tensor('empty'), closed.tensor('small').slice([null, null, 2])];
      closed.close();
      for (const tensor of tensors) expect(await codeOf(() => convert(tensor))).toBe('CLOSED');
    });

    if (door.startsWith('reads')) return;

    it.each(Object.keys(PARTS))('refuses a target over its own bytes, in %s', async (which) => {
      using own = open(door);
      const part = PARTS[which]!(own.tensor('long'));
      const { bytes } = own.tensor('long');
      const before = bytes.slice();
      // From before the tensor, from within it, and over its last bytes alone.
      const firstWord = Math.ceil(bytes.byteOffset / 4) * 4;
      const room = bytes.buffer.byteLength - (bytes.buffer.byteLength % 4);
      const lastInside = firstWord + part.dataOffsets[1] - own.tensor('long').dataOffsets[0] - 400;
      for (const begin of [firstWord, firstWord + 400, lastInside]) {
        const target = new Float32Array(bytes.buffer, begin, Math.min(part.length, (room - begin) / 4));
        const { code, message } = await failureOf(() => convert(part, target));
        expect([code, message]).toEqual(['INVALID_ARGUMENT', expect.stringMatching(/^tensor "long": .*overlaps/)]);
      }
      expect(sameBytes(bytes, before)).toBe(true);
    });

    it('takes a target over another tensor', async () => {
      using own = open(door);
      const part = own.tensor('long').slice(null, [0, 1000]);
      const { bytes } = own.tensor('after');
      const target = new Float32Array(bytes.buffer, Math.ceil(bytes.byteOffset / 4) * 4, part.length);
      expect(sameBytes(await convert(part, target), file.tensor('long').slice(null, [0, 1000]).toFloat32Array())).toBe(
        true,
      );
    });
  });

  it('toFloat32 refuses a target that is given in place of the options, and would stay as it is', async () => {
    const target = new Float32Array(6) as object;
    expect(await failureOf(() => small.toFloat32(target))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: 'toFloat32 takes its target as an option: { target }',
    });
  });
});

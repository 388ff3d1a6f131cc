// Owns how a conversion off the event loop goes and ends: pieces, threads, aborts, a file or a target that goes away.
// Targets are held in conversion-targets.test.ts, the floats themselves in tensor-float32.test.ts.
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { PIECE_ELEMENTS, threadsOf } from '../src/conversion.js';
import { splitRuns } from '../src/gathering.js';
import { parse, type SafeTensorsError, type TensorView } from '../src/index.js';
import { gatherPlan, makeRegion } from '../src/region.js';
import { doorsTo, raw, sameBytes } from './support/doors.js';
import { descriptorsIn, fileOf, scratch } from './support/files.js';
import { codeOf, errorOf, failureOf } from './support/outcome.js';

const PIECES = 4;
const ROWS = 32;
const COLUMNS = (PIECES * PIECE_ELEMENTS) / ROWS;

const folder = scratch();
afterAll(() => {
  expect(descriptorsIn(folder.path)).toEqual([]);
  folder.remove();
});
const open = doorsTo(
  [
    { name: 'small', dtype: 'I16', shape: [6] },
    { name: 'long', dtype: 'U8', shape: [ROWS, COLUMNS] },
  ],
  folder,
);

/** Looks at the signal, counted from the one before the first piece; the last is between two pieces of any part. */
const MOMENTS = [2, 3];

/** A signal that does something when it is looked at for the `moment`th time. */
function signalAt(moment: number, action: () => void, signal = new AbortController().signal): AbortSignal {
  let looks = 0;
  signal.throwIfAborted = () => {
    if (++looks === moment) action();
    AbortSignal.prototype.throwIfAborted.call(signal);
  };
  return signal;
}

/** Parts that are converted in several pieces: one run, runs of rows, single elements. */
const PARTS: Readonly<Record<string, (long: TensorView) => TensorView>> = {
  'a whole tensor': (long) => long,
  'a contiguous part': (long) => long.slice([1, -1]),
  columns: (long) => long.slice(null, [7, -100]),
  'every second element, backwards': (long) => long.slice(null, [null, null, -2]),
};

describe('splitRuns', () => {
  const dims = fc.array(fc.tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: -3, max: 3 })), { maxLength: 4 });

  it('covers the same bytes in the same order, in pieces within the limit and with exact ranges', () => {
    fc.assert(
      fc.property(dims, fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 60 }), (loops, run, most) => {
        const counts = loops.map(([count]) => count);
        const strides = loops.map(([, steps]) => steps * run);
        const starts = (runs: { offset: number; counts: readonly number[]; strides: readonly number[] }) =>
          runs.counts.reduce<number[]>(
            (from, count, dim) =>
              from.flatMap((at) => Array.from({ length: count }, (_, i) => at + i * runs.strides[dim]!)),
            [runs.offset],
          );
        const bytesOf = (runs: Parameters<typeof splitRuns>[0]) =>
          starts(runs).flatMap((at) => Array.from({ length: runs.runBytes }, (_, i) => at + i));
        const all = bytesOf({ runBytes: run, counts, strides, offset: 0, byteLength: 0, minByte: 0, maxByte: 0 });
        const runs = {
          runBytes: run,
          counts,
          strides,
          offset: 0,
          byteLength: all.length,
          minByte: Math.min(...all),
          maxByte: Math.max(...all) + 1,
        };
        const pieces = [...splitRuns(runs, most)];
        expect(pieces.flatMap(bytesOf)).toEqual(all);
        for (const piece of pieces) {
          const bytes = bytesOf(piece);
          expect(piece.byteLength).toBe(bytes.length);
          expect(bytes.length).toBeLessThanOrEqual(most);
          expect([piece.minByte, piece.maxByte]).toEqual([Math.min(...bytes), Math.max(...bytes) + 1]);
        }
        // Half full on average, or the pieces could be one element each.
        if (counts.length === 0) expect(pieces.length).toBe(Math.ceil(run / most));
      }),
    );
  });

  it('cuts packed elements between bytes', () => {
    for (const dtype of ['F4', 'F6_E2M3'] as const) {
      const runs = gatherPlan(makeRegion([3, 1000], [2000, 1], 8, [4, 2000]), dtype);
      const most = dtype === 'F4' ? 64 : 96;
      const pieces = [...splitRuns(runs, most)];
      expect(pieces.every(({ byteLength, offset }) => Number.isInteger(byteLength) && Number.isInteger(offset))).toBe(
        true,
      );
      expect(pieces.reduce((sum, { byteLength }) => sum + byteLength, 0)).toBe(runs.byteLength);
    }
  });
});

describe('threads', () => {
  it('are 1 by default, and never more than asked for', () => {
    expect(threadsOf(undefined)).toBe(1);
    for (const threads of [1, 2, 3, 64]) {
      expect(threadsOf(threads)).toBeGreaterThanOrEqual(1);
      expect(threadsOf(threads)).toBeLessThanOrEqual(threads);
    }
  });

  it.each([0, -1, 65, 1.5, Number.NaN, Infinity, '2', 1n, {}])('%o is refused', async (threads) => {
    using file = open('a mapping');
    const { code, message } = await failureOf(() => file.tensor('small').toFloat32({ threads: threads as number }));
    expect(code).toBe('INVALID_ARGUMENT');
    expect(message).toContain('threads is an integer from 1 to 64');
  });
});

// The other doors differ in addresses alone.
describe.each(['a mapping', 'reads', 'memory'] as const)('through %s', (door) => {
  const file = open(door);
  afterAll(() => file.close());

  it('rejects with CLOSED when a conversion of one piece is overtaken by close', async () => {
    const own = open(door);
    const converting = own.tensor('small').toFloat32();
    own.close();
    expect(await codeOf(() => converting)).toBe('CLOSED');
  });

  describe.each(Object.keys(PARTS))('%s off the event loop', (which) => {
    const part = PARTS[which]!(file.tensor('long'));
    const expected = part.toFloat32Array();

    it.each([1, 2, 8])('is the same with up to %i threads, fresh and into a target', async (threads) => {
      expect(sameBytes(await part.toFloat32({ threads }), expected)).toBe(true);
      const target = new Float32Array(part.length);
      expect(await part.toFloat32({ threads, target })).toBe(target);
      expect(sameBytes(target, expected)).toBe(true);
    });

    it('is the same for several conversions at once', async () => {
      const results = await Promise.all([1, 2, 3].map((threads) => part.toFloat32({ threads })));
      for (const floats of results) expect(sameBytes(floats, expected)).toBe(true);
    });

    it('lets the event loop turn between pieces', async () => {
      let turns = 0;
      let done = false;
      const turn = () => {
        turns++;
        if (!done) setImmediate(turn);
      };
      setImmediate(turn);
      await part.toFloat32({ target: new Float32Array(part.length) });
      done = true;
      expect(turns).toBeGreaterThanOrEqual(Math.floor(part.length / PIECE_ELEMENTS) - 1);
    });

    it('rejects with the reason of an abort before it, and touches nothing', async () => {
      const target = new Float32Array(part.length);
      for (const reason of ['because', new Error('because'), null]) {
        const signal = AbortSignal.abort(reason);
        await expect(part.toFloat32({ signal, target })).rejects.toBe(reason);
      }
      await expect(part.toFloat32({ signal: AbortSignal.abort() })).rejects.toThrow(/aborted/);
      expect(target.every((value) => value === 0)).toBe(true);
    });

    it.each([1, 2, 8])('rejects with the reason of an abort during it, with up to %i threads', async (threads) => {
      const reason = await failureOf(() => file.tensor('none such'));
      for (const moment of MOMENTS) {
        for (const target of [undefined, new Float32Array(part.length)]) {
          const controller = new AbortController();
          const signal = signalAt(moment, () => controller.abort(reason), controller.signal);
          expect(await errorOf(() => part.toFloat32({ threads, signal, ...(target && { target }) }))).toBe(reason);
          // Nothing writes any more.
          const seen = target && raw(target).slice();
          for (let i = 0; i < 20; i++) await new Promise(setImmediate);
          if (target !== undefined) expect(sameBytes(target, seen!)).toBe(true);
        }
      }
    });

    it('may be aborted after it', async () => {
      const controller = new AbortController();
      const floats = await part.toFloat32({ signal: controller.signal });
      controller.abort();
      expect(sameBytes(floats, expected)).toBe(true);
    });

    it.each([1, 4])('rejects with CLOSED when the file is closed during it, with up to %i threads', async (threads) => {
      for (const moment of MOMENTS) {
        for (const target of [undefined, new Float32Array(part.length)]) {
          const own = open(door);
          const signal = signalAt(moment, () => own.close());
          const converting = PARTS[which]!(own.tensor('long')).toFloat32({
            threads,
            signal,
            ...(target && { target }),
          });
          const { code, message, tensor } = await failureOf(() => converting);
          expect([code, tensor]).toEqual(['CLOSED', 'long']);
          expect(message).toMatch(/^tensor "long": .*closed/);
        }
      }
    });

    it('rejects when the target is transferred away during it', async () => {
      for (const [threads, moment] of [1, 4].flatMap((count) => MOMENTS.map((moment) => [count, moment] as const))) {
        const target = new Float32Array(part.length);
        let moved = new ArrayBuffer(0);
        const signal = signalAt(moment, () => {
          moved = structuredClone(target.buffer, { transfer: [target.buffer] });
        });
        const { code, message } = await failureOf(() => part.toFloat32({ target, threads, signal }));
        expect([code, message]).toEqual(['INVALID_ARGUMENT', expect.stringMatching(/^tensor "long": .*transferred/)]);
        const seen = new Uint8Array(moved.slice(0));
        for (let i = 0; i < 20; i++) await new Promise(setImmediate);
        expect(sameBytes(new Uint8Array(moved), seen)).toBe(true);
      }
    });
  });
});

describe('memory given to parse() that is transferred away', () => {
  it.each([
    [6, 'done'],
    [2 * PIECE_ELEMENTS, 'CLOSED'],
  ])('right after the call, of %d elements: %s', async (length, outcome) => {
    const bytes = fileOf([{ name: 't', dtype: 'U8', shape: [length] }]);
    const converting = parse(bytes).tensor('t').toFloat32();
    structuredClone(bytes, { transfer: [bytes.buffer] });
    expect(
      await converting.then(
        () => 'done',
        (error: SafeTensorsError) => error.code,
      ),
    ).toBe(outcome);
  });
});

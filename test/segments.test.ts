// Owns the plan of segments: which tensors share a buffer, and that mapped bytes are the file's bytes under any plan.
// Refuses the rules of layout: every plan here is of a valid one.

import { closeSync, fstatSync, openSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { TensorColumns } from '../src/columns.js';
import { arrayOf, bitsOf, DTYPES, type Dtype, dtypeCode } from '../src/dtype.js';
import { fileSystemOf } from '../src/file-system.js';
import { MappedSource } from '../src/mapping.js';
import { Origin } from '../src/origin.js';
import { planSegments, SEGMENT_LIMIT, type SegmentPlan } from '../src/segments.js';
import { counting, scratch } from './support/files.js';

const folder = scratch();
afterAll(() => folder.remove());

interface Placed {
  readonly dtype: Dtype;
  readonly begin: number;
  readonly end: number;
}

/** Tensors back to back: dtype and number of eight elements each, so that every size is whole bytes. */
function placed(tensors: readonly (readonly [Dtype, number])[]): Placed[] {
  let end = 0;
  return tensors.map(([dtype, eights]) => {
    const begin = end;
    end += eights * bitsOf(dtype);
    return { dtype, begin, end };
  });
}

function columnsOf(tensors: readonly Placed[]): TensorColumns {
  const columns = new TensorColumns(tensors.length, 0);
  for (const [row, { dtype, begin, end }] of tensors.entries()) {
    columns.dtype[row] = dtypeCode(dtype);
    columns.begin[row] = begin;
    columns.end[row] = end;
  }
  columns.count = tensors.length;
  return columns;
}

function listed({ begin, end }: SegmentPlan): [number, number][] {
  return Array.from(begin, (from, k) => [from, end[k]!]);
}

const dtype = fc.constantFrom(...DTYPES);
const tensors = fc
  .array(fc.tuple(dtype, fc.oneof({ weight: 3, arbitrary: fc.integer({ min: 0, max: 3 }) }, fc.nat({ max: 40 }))), {
    maxLength: 30,
  })
  .map(placed);
const dataOffset = fc.integer({ min: 10, max: 40 });
const limit = fc.constantFrom(1, 8, 64, 100, 1000, SEGMENT_LIMIT);

describe('planSegments', () => {
  it.each([false, true])('with shifted %s puts every tensor whole into one segment, in order', (shifted) => {
    fc.assert(
      fc.property(tensors, dataOffset, limit, (list, offset, most) => {
        const plan = planSegments(columnsOf(list), offset, shifted, most);
        const segments = listed(plan);
        const full = list.filter(({ begin, end }) => begin < end);
        for (const { begin, end } of full) {
          // The way a segment is looked up: the last one to begin at or before the tensor.
          const found = segments.findLast(([from]) => from <= offset + begin);
          expect(found?.[1]).toBeGreaterThanOrEqual(offset + end);
        }
        for (const [k, [from, to]] of segments.entries()) {
          expect(to).toBeGreaterThan(from);
          if (k === 0) continue;
          const [previousFrom, previousTo] = segments[k - 1]!;
          expect(from).toBeGreaterThanOrEqual(previousFrom);
          expect(to).toBeGreaterThan(previousTo);
          // Rounded down to the widest element, a segment may reach back over less than one.
          expect(previousTo - from).toBeLessThan(shifted ? 1 : 8);
        }
        expect(segments.at(-1)?.[1]).toBe(full.length === 0 ? undefined : offset + full.at(-1)!.end);
      }),
      { numRuns: 300 },
    );
  });

  it.each([false, true])('with shifted %s exceeds the limit for a single tensor only', (shifted) => {
    fc.assert(
      fc.property(tensors, dataOffset, limit, (list, offset, most) => {
        let previousTo = 0;
        for (const [from, to] of listed(planSegments(columnsOf(list), offset, shifted, most))) {
          const own = list.filter(({ begin, end }) => begin < end && offset + end > previousTo && offset + end <= to);
          if (to - from > most) expect(own).toHaveLength(1);
          previousTo = to;
        }
      }),
      { numRuns: 300 },
    );
  });

  it('starts at multiples of 8 bytes of the file, so that an offset in the buffer tells the alignment', () => {
    fc.assert(
      fc.property(tensors, dataOffset, limit, (list, offset, most) => {
        const { begin } = planSegments(columnsOf(list), offset, false, most);
        expect(begin.filter((from) => from % 8 !== 0)).toHaveLength(0);
      }),
    );
  });

  it('shifted, has every tensor at a multiple of its element size within its segment', () => {
    fc.assert(
      fc.property(tensors, dataOffset, limit, (list, offset, most) => {
        const { begin: begins } = planSegments(columnsOf(list), offset, true, most);
        for (const { dtype: kind, begin, end } of list) {
          if (begin === end) continue;
          const from = begins.findLast((segment) => segment <= offset + begin)!;
          expect((offset + begin - from) % arrayOf(kind).BYTES_PER_ELEMENT).toBe(0);
        }
      }),
    );
  });

  it('shifted, needs no more segments for an unpadded header than for a padded one', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 9 }), { minLength: 1 }), fc.integer({ min: 16, max: 23 }), (sizes, offset) => {
        const list = placed(sizes.map((eights) => ['F32', eights] as const));
        const plan = planSegments(columnsOf(list), offset, true);
        expect(plan.begin.length).toBe(list.some(({ begin, end }) => begin < end) ? 1 : 0);
      }),
    );
  });

  it('has no segment where there is no data', () => {
    for (const list of [
      [],
      placed([
        ['F32', 0],
        ['U8', 0],
      ]),
    ]) {
      expect(listed(planSegments(columnsOf(list), 16, false))).toEqual([]);
    }
  });

  it('has one segment up to 1 GiB, and another after it', () => {
    const eighth = 2 ** 27 / 8;
    const list = placed(Array.from({ length: 17 }, () => ['U8', eighth] as const));
    expect(listed(planSegments(columnsOf(list), 4096, false))).toEqual([
      [4096, 4096 + 2 ** 30],
      [4096 + 2 ** 30, 4096 + 2 ** 31],
      [4096 + 2 ** 31, 4096 + 2 ** 31 + 2 ** 27],
    ]);
  });
});

describe('a mapped file', () => {
  it.each([false, true])('with shifted %s gives the same bytes under every plan', (shifted) => {
    fc.assert(
      fc.property(tensors, dataOffset, limit, fc.infiniteStream(fc.nat()), (list, offset, most, order) => {
        const content = counting(offset + (list.at(-1)?.end ?? 0));
        const descriptor = openSync(folder.write('planned', content), 'r');
        const plan = planSegments(columnsOf(list), offset, shifted, most);
        const origin = new Origin(folder.path, fstatSync(descriptor, { bigint: true }), fileSystemOf(undefined));
        const source = new MappedSource(descriptor, content.length, 'copy-on-write', plan, origin);
        closeSync(descriptor);
        const full = list.filter(({ begin, end }) => begin < end);
        for (let step = 0; step < full.length * 2; step++) {
          const { begin, end } = full[order.next().value % full.length]!;
          const bytes = source.bytes(offset + begin, offset + end);
          expect(Buffer.compare(bytes, content.subarray(offset + begin, offset + end))).toBe(0);
          expect(source.byteOffsetOf(offset + begin)).toBe(bytes.byteOffset);
        }
        source.close();
      }),
      { numRuns: 100 },
    );
  });
});

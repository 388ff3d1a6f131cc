// Owns the plan of segments: which tensors share a buffer, and that mapped bytes are the file's bytes under any plan.
// Refuses the rules of layout: every plan here is of a valid one.

import { closeSync, fstatSync, openSync, truncateSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { nativeBinding } from '../src/binding.js';
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
  const columns = new TensorColumns(tensors.length);
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

  it('has one segment up to the limit, which keeps byte offsets in 32 signed bits, and another after it', () => {
    expect(SEGMENT_LIMIT).toBeLessThan(2 ** 31);
    const eighth = SEGMENT_LIMIT / 8;
    const list = placed([['U8', eighth - 1] as const, ['U8', 1] as const, ['U8', 1] as const, ['U8', eighth] as const]);
    expect(listed(planSegments(columnsOf(list), 4096, false))).toEqual([
      [4096, 4096 + SEGMENT_LIMIT],
      [4096 + SEGMENT_LIMIT, 4096 + SEGMENT_LIMIT + 8],
      [4096 + SEGMENT_LIMIT + 8, 4096 + 2 * SEGMENT_LIMIT + 8],
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

  it('gives the tensor that is used first, if it is short, a buffer of its own until another is used', () => {
    const MiB = 2 ** 20;
    const list = placed([
      ['F32', MiB / 4] as const,
      ['U8', 3] as const,
      ['U16', 5] as const,
      ['F32', 10 * MiB] as const,
    ]);
    const path = folder.write('led', '');
    truncateSync(path, 16 + list.at(-1)!.end);
    const descriptor = openSync(path, 'r');
    const status = fstatSync(descriptor, { bigint: true });
    const origin = new Origin(path, status, fileSystemOf(undefined));
    const plan = planSegments(columnsOf(list), 16, false);
    const at = (k: number) => [16 + list[k]!.begin, 16 + list[k]!.end] as const;
    const source = new MappedSource(descriptor, Number(status.size), 'copy-on-write', plan, origin);
    const long = new MappedSource(descriptor, Number(status.size), 'copy-on-write', plan, origin);
    closeSync(descriptor);
    const first = source.bytes(...at(2));
    first[0] = 7;
    expect(first.buffer.byteLength).toBe(80);
    expect(source.bytes(...at(2)).buffer).toBe(first.buffer);
    expect(source.bytes(at(2)[0] + 8, at(2)[1]).buffer).toBe(first.buffer); // a slice of it
    const second = source.bytes(...at(1));
    expect(second.buffer.byteLength).toBe(list.at(-1)!.end);
    const again = source.bytes(...at(2));
    expect([again.buffer, again[0]]).toEqual([second.buffer, 7]);
    for (const bytes of [first, again]) expect(bytes.byteOffset % 8).toBe(source.byteOffsetOf(at(2)[0]) % 8);
    source.close();
    expect([first, second, again].map(({ byteLength }) => byteLength)).toEqual([0, 0, 0]);
    expect(long.bytes(...at(3)).buffer.byteLength).toBe(list.at(-1)!.end);
    long.close();
  });

  it('goes on when that buffer is moved elsewhere', () => {
    const list = placed([['U8', 1] as const, ['U8', 5 * 2 ** 20] as const]);
    const path = folder.write('moved', '');
    truncateSync(path, 16 + list.at(-1)!.end);
    const descriptor = openSync(path, 'r');
    const status = fstatSync(descriptor, { bigint: true });
    const origin = new Origin(path, status, fileSystemOf(undefined));
    const plan = planSegments(columnsOf(list), 16, false);
    const source = new MappedSource(descriptor, Number(status.size), 'copy-on-write', plan, origin);
    closeSync(descriptor);
    const first = source.bytes(16, 24);
    first[3] = 9;
    // What a transfer leaves behind; runtimes differ in whether they move such memory.
    nativeBinding().detach(first.buffer as ArrayBuffer);
    const again = source.bytes(16, 24);
    expect([again.buffer.byteLength > 24, again[3]]).toEqual([true, 9]);
    source.close();
    expect(again.byteLength).toBe(0);
  });
});

// Owns copies into the caller's memory: where they go, what they need, and what they refuse.
// What is copied is held in tensor-slices.test.ts.
import { afterAll, describe, expect, it } from 'vitest';
import { arrayOf, DTYPES } from '../src/dtype.js';
import { DOORS, doorsTo, raw, sameBytes } from './support/doors.js';
import { counting, scratch } from './support/files.js';
import { codeOf, failureOf } from './support/outcome.js';
import { pickBits } from './support/slice_cases.js';

const folder = scratch();
afterAll(() => folder.remove());

const open = doorsTo([{ name: 't', dtype: 'I32', shape: [6, 5] }], folder);
const expected = counting(120);
const columns = pickBits(expected, 32, [1, 2, 6, 7, 11, 12, 16, 17, 21, 22, 26, 27]);

type Constructor = new (buffer: ArrayBufferLike, offset: number) => ArrayBufferView;

describe.each(DOORS)('a copy from %s', (door) => {
  const file = open(door);
  afterAll(() => file.close());
  const tensor = file.tensor('t');
  const parts = { 'a whole tensor': [tensor, expected], columns: [tensor.slice(null, [1, 3]), columns] } as const;

  it.each(Object.keys(parts) as (keyof typeof parts)[])('takes every kind of target, for %s', (kind) => {
    const [part, bytes] = parts[kind];
    const room = bytes.length + 16;
    const targets: [target: ArrayBufferView | ArrayBufferLike, seen: () => Uint8Array][] = [];
    for (const buffer of [new ArrayBuffer(room), new SharedArrayBuffer(room)] as ArrayBufferLike[]) {
      targets.push([buffer, () => new Uint8Array(buffer, 8)]);
    }
    for (const ArrayOf of new Set<Constructor>(DTYPES.map(arrayOf))) {
      for (const buffer of [new ArrayBuffer(room + 8), new SharedArrayBuffer(room + 8)]) {
        const array = new ArrayOf(buffer, 8);
        targets.push([array, () => raw(array).subarray(8)]);
      }
    }
    const view = new DataView(new ArrayBuffer(room + 3), 3);
    targets.push([view, () => raw(view).subarray(8)]);
    targets.push([Buffer.alloc(room), () => raw(targets.at(-1)![0] as Buffer).subarray(8)]);
    for (const [target, seen] of targets) {
      expect(part.copyTo(target, 8)).toBe(bytes.length);
      expect(sameBytes(seen().subarray(0, bytes.length), bytes)).toBe(true);
      expect([...seen().subarray(bytes.length)]).toEqual(new Array(8).fill(0));
    }
  });

  it('refuses a target without room, and says what would fit where', async () => {
    const target = new Uint8Array(expected.length + 1);
    for (const offset of [2, -1, 0.5, Number.NaN, Infinity, '0', 1n, null, target.length] as unknown as number[]) {
      const { code, message } = await failureOf(() => tensor.copyTo(target, offset));
      expect(code).toBe('INVALID_ARGUMENT');
      expect(message).toBe(`tensor "t" has 120 bytes, which do not fit at byte ${String(offset)} of a target of 121`);
    }
    expect(target.every((byte) => byte === 0)).toBe(true);
    expect(tensor.copyTo(target, 1)).toBe(120);
  });

  it('refuses what is no memory, and memory that was transferred away', async () => {
    for (const target of [null, undefined, 7, 'abc', [], {}, () => 0] as unknown as ArrayBuffer[]) {
      expect(await codeOf(() => tensor.copyTo(target))).toBe('INVALID_ARGUMENT');
    }
    const buffer = new ArrayBuffer(200);
    const arrays = [new Uint8Array(buffer), new Int32Array(buffer), buffer];
    structuredClone(buffer, { transfer: [buffer] });
    for (const target of arrays) expect(await codeOf(() => tensor.copyTo(target))).toBe('INVALID_ARGUMENT');
  });

  it('copies nothing for nothing', () => {
    expect(tensor.slice([3, 3]).copyTo(new Uint8Array(0))).toBe(0);
    expect(tensor.slice([3, 3]).copyTo(new ArrayBuffer(4), 4)).toBe(0);
  });

  it('ends with the file', async () => {
    const closed = open(door);
    const part = closed.tensor('t').slice(null, [1, 3]);
    closed.close();
    expect(await codeOf(() => part.copyTo(new Uint8Array(100)))).toBe('CLOSED');
  });
});

it.each(DOORS.filter((door) => door !== 'reads'))(
  'a copy onto itself is refused, onto its neighbours not: %s',
  async (door) => {
    using file = open(door);
    const tensor = file.tensor('t');
    const { bytes } = tensor;
    for (const part of [tensor, tensor.slice(null, [1, 3]), tensor.slice([null, null, -1])]) {
      const { code, message } = await failureOf(() => part.copyTo(bytes));
      expect([code, message]).toEqual(['INVALID_ARGUMENT', expect.stringMatching(/^tensor "t": .*overlaps/)]);
    }
    expect(await codeOf(() => tensor.slice(0).copyTo(bytes, 19))).toBe('INVALID_ARGUMENT');
    expect(tensor.slice(0).copyTo(bytes, 20)).toBe(20);
    // The target reaches over what is copied, but the copy does not.
    expect(tensor.slice(5).copyTo(bytes, 80)).toBe(20);
    expect(sameBytes(bytes.subarray(20, 40), bytes.subarray(0, 20))).toBe(true);
    expect(sameBytes(bytes.subarray(40, 80), expected.subarray(40, 80))).toBe(true);
    expect(sameBytes(bytes.subarray(80, 100), expected.subarray(100))).toBe(true);
  },
);

// Holds slices and shards of tensors against numpy's answers, from a real file and with every backend.
// The rules themselves are held in slice_reference.test.ts; here they meet files, buffers and conversions.
import { afterAll, describe, expect, it } from 'vitest';
import { convertToFloat32, isConvertible } from '../src/convert.js';
import { arrayOf, bitsOf, type Dtype } from '../src/dtype.js';
import { SafeTensorsError, type TensorView } from '../src/index.js';
import { DOORS, doorsTo, sameBytes } from './support/doors.js';
import { counting, scratch, type TensorSpec } from './support/files.js';
import { type Answer, pickBits, readSliceCases } from './support/slice_cases.js';

const { slices, shards } = readSliceCases();

const bytesOf = (dtype: Dtype, shape: readonly number[]) =>
  (shape.reduce((product, size) => product * size, 1) * bitsOf(dtype)) / 8;
const nameOf = (dtype: Dtype, shape: readonly number[]) => `${dtype} ${shape.join(' ')}`;

// First in the file, so that it lies aligned wherever that can be.
const specs = new Map<string, TensorSpec>([['I32 6 5', { name: 'I32 6 5', dtype: 'I32', shape: [6, 5] }]]);
for (const [dtype, shape] of [...slices, ...shards]) {
  const name = nameOf(dtype, shape);
  specs.set(name, { name, dtype, shape });
}
const TENSORS = [...specs.values()];

const folder = scratch();
afterAll(() => folder.remove());

const open = doorsTo(TENSORS, folder);
// What `fileOf` fills a file with.
const DATA = counting(TENSORS.reduce((sum, { dtype, shape }) => sum + bytesOf(dtype, shape), 0));

/** What a part of `whole` should be, from numpy's answer. */
interface Wanted {
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
  readonly dataOffsets: readonly [number, number];
  readonly contiguous: boolean;
}

function wantedOf(whole: TensorView, wholeBytes: Uint8Array, [shape, flat]: [number[], number[]]): Wanted {
  const bits = bitsOf(whole.dtype);
  const [begin] = whole.dataOffsets;
  const low = flat.reduce((least, element) => Math.min(least, element), flat.length === 0 ? 0 : Infinity);
  const high = flat.reduce((most, element) => Math.max(most, element + 1), 0);
  return {
    shape,
    bytes: pickBits(wholeBytes, bits, flat),
    dataOffsets: [begin + (low * bits) / 8, begin + (high * bits) / 8],
    contiguous: flat.every((element, i) => i === 0 || element === flat[i - 1]! + 1),
  };
}

/** Names of the properties of `part` that are not as they should be. */
function faults(part: TensorView, whole: TensorView, wanted: Wanted, aliases: boolean): string[] {
  const { bytes: expected } = wanted;
  const ArrayOf = arrayOf(part.dtype);
  const elements = wanted.shape.reduce((product, size) => product * size, 1);
  const target = new Uint8Array(expected.length + 5).fill(0xa5);
  const copied = part.copyTo(target, 3);
  const guards = [...target.subarray(0, 3), ...target.subarray(3 + expected.length)];
  const { bytes, data } = part;
  const overFile = wanted.contiguous && expected.length > 0 && aliases;
  // What was read is shared by all who ask for the same bytes.
  const shared = overFile || (wanted.contiguous && expected.length > 0 && expected.length === whole.byteLength);

  const holds: Record<string, boolean> = {
    name: part.name === whole.name && part.dtype === whole.dtype,
    shape: JSON.stringify(part.shape) === JSON.stringify(wanted.shape) && part.length === elements,
    byteLength: part.byteLength === expected.length && copied === expected.length,
    dataOffsets: JSON.stringify(part.dataOffsets) === JSON.stringify(wanted.dataOffsets),
    copyTo: sameBytes(target.subarray(3, 3 + expected.length), expected) && guards.every((byte) => byte === 0xa5),
    bytes: sameBytes(bytes, expected) && (bytes.buffer === whole.bytes.buffer) === shared,
    data: data instanceof ArrayOf && sameBytes(data, expected) && part.data === data,
    // A copy is made for nothing but a part with gaps or an address between two elements.
    isView: part.isView === (overFile && bytes.byteOffset % ArrayOf.BYTES_PER_ELEMENT === 0),
    alias: part.isView === (overFile && data.buffer === whole.bytes.buffer),
  };
  if (isConvertible(part.dtype)) {
    const floats = new Float32Array(elements);
    convertToFloat32(part.dtype, expected, floats);
    holds.toFloat32Array = sameBytes(part.toFloat32Array(), floats);
  }
  return Object.keys(holds).filter((property) => !holds[property]);
}

describe.each(DOORS)('through %s', (door) => {
  const file = open(door);
  afterAll(() => file.close());
  const aliases = file.backend !== 'read';

  /** How a case went, if not as numpy says. */
  function wrongWith(dtype: Dtype, shape: number[], answer: Answer, take: (whole: TensorView) => TensorView): unknown {
    const whole = file.tensor(nameOf(dtype, shape));
    let part: TensorView;
    try {
      part = take(whole);
    } catch (error) {
      if (!(error instanceof SafeTensorsError)) throw error;
      return error.code === answer && error.tensor === whole.name ? undefined : error;
    }
    if (typeof answer === 'string') return `not ${answer}`;
    const found = faults(part, whole, wantedOf(whole, DATA.subarray(...whole.dataOffsets), answer), aliases);
    return found.length === 0 ? undefined : found;
  }

  it('every slice, and every slice of a slice, is numpy’s', () => {
    const wrong: unknown[] = [];
    for (const [dtype, shape, first, second, answer] of slices) {
      const fault = wrongWith(dtype, shape, answer, (whole) => {
        const part = whole.slice(...first);
        return second === null ? part : part.slice(...second);
      });
      if (fault !== undefined) wrong.push([dtype, shape, first, second, fault]);
    }
    expect(wrong).toEqual([]);
  });

  it('every shard is numpy’s', () => {
    const wrong: unknown[] = [];
    for (const [dtype, shape, dim, rank, of, uneven, answer] of shards) {
      const fault = wrongWith(dtype, shape, answer, (whole) => whole.shard({ dim, rank, of, uneven }));
      if (fault !== undefined) wrong.push([dtype, shape, { dim, rank, of, uneven }, fault]);
    }
    expect(wrong).toEqual([]);
  });

  it('a slice converts off the event loop to the same floats', async () => {
    const wrong: unknown[] = [];
    for (const [dtype, shape, first, second, answer] of slices.filter((_, i) => i % 9 === 0)) {
      if (typeof answer === 'string' || !isConvertible(dtype)) continue;
      const part = file
        .tensor(nameOf(dtype, shape))
        .slice(...first)
        .slice(...(second ?? []));
      if (!sameBytes(await part.toFloat32(), part.toFloat32Array())) wrong.push([dtype, shape, first, second]);
    }
    expect(wrong).toEqual([]);
  });
});

describe('a write through a part', () => {
  it('is seen in the whole tensor exactly when the part is a view', () => {
    using file = open('a mapping');
    for (const indices of [
      [[2, 5]],
      [[2, 5], null],
      [[null, null, 2]],
      [null, [1, 3]],
      [-1],
      [[null, null, -1]],
    ] as const) {
      const whole = file.tensor('I32 6 5');
      const part = whole.slice(...indices);
      const [first] = part.data;
      part.data[0] = -7;
      expect([...whole.data].includes(-7)).toBe(part.isView);
      part.data[0] = first as number;
    }
  });

  it('of a part with gaps stays in that one view of it', () => {
    using file = open('a mapping');
    const part = file.tensor('I32 6 5').slice(null, [0, 2]);
    const [first] = part.data;
    part.data[0] = -7;
    expect([part.data[0], part.bytes[0]]).toEqual([-7, 0xf9]);
    expect(part.slice().data[0]).toBe(first);
  });
});

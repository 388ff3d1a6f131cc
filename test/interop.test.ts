// Holds what is handed to scijs' ndarray and to onnxruntime against the packages themselves: every dtype gives a tensor
// of theirs with the same elements, or a clear error.
import ndarray from 'ndarray';
import { Tensor } from 'onnxruntime-common';
import { afterAll, describe, expect, it } from 'vitest';
import { bitsOf, DTYPES, type Dtype } from '../src/dtype.js';
import type { TensorView } from '../src/index.js';
import { DOORS, doorsTo } from './support/doors.js';
import { scratch } from './support/files.js';
import { codeOf, failureOf } from './support/outcome.js';

const folder = scratch();
afterAll(() => folder.remove());

const SHAPE = [3, 4, 4];
const open = doorsTo(
  [
    ...DTYPES.map((dtype) => ({ name: dtype, dtype, shape: SHAPE })),
    { name: 'scalar', dtype: 'F64' as const, shape: [] },
    { name: 'empty', dtype: 'F32' as const, shape: [2, 0, 3] },
  ],
  folder,
);

/** Slices as one writes them: contiguous, rows, columns, every second, from the end, of a dimension less, of slices. */
const SLICES: Readonly<Record<string, (tensor: TensorView) => TensorView>> = {
  'the whole': (tensor) => tensor,
  'a run': (tensor) => tensor.slice([1, 3]),
  columns: (tensor) => tensor.slice(null, null, [1, 3]),
  'every second, from the end': (tensor) => tensor.slice([null, null, -2], [null, null, -1], [null, null, 2]),
  'a plane': (tensor) => tensor.slice(null, 2),
  'an element': (tensor) => tensor.slice(1, 2, 3),
  nothing: (tensor) => tensor.slice(null, [2, 2]),
  'a slice of a slice': (tensor) => tensor.slice(null, [1, 4]).slice([null, null, -1], 1, [null, null, 3]),
};

/** All positions in a shape, in C order. */
function positions(shape: readonly number[]): number[][] {
  return shape.reduce<number[][]>(
    (found, size) => found.flatMap((position) => Array.from({ length: size }, (_, i) => [...position, i])),
    [[]],
  );
}

const WITHOUT_NDARRAY: readonly Dtype[] = ['C64', 'F4', 'F6_E2M3', 'F6_E3M2'];
const WITH_NDARRAY = DTYPES.filter((dtype) => !WITHOUT_NDARRAY.includes(dtype));

/** Of onnxruntime, by its documentation. */
const ORT_TYPES: Partial<Record<Dtype, string>> = {
  BOOL: 'bool',
  U8: 'uint8',
  I8: 'int8',
  U16: 'uint16',
  I16: 'int16',
  F16: 'float16',
  U32: 'uint32',
  I32: 'int32',
  F32: 'float32',
  F64: 'float64',
  I64: 'int64',
  U64: 'uint64',
};
const WITH_ORT = DTYPES.filter((dtype) => dtype in ORT_TYPES);
const WITHOUT_ORT = DTYPES.filter((dtype) => !(dtype in ORT_TYPES));

describe.each(DOORS)('from %s', (door) => {
  const file = open(door);
  afterAll(() => file.close());

  describe.each(Object.keys(SLICES))('ndarray of %s', (which) => {
    it.each(WITH_NDARRAY)('%s', (dtype) => {
      const whole = file.tensor(dtype);
      const part = SLICES[which]!(whole);
      const { data, shape, stride, offset } = part.toNdarray();
      const array = ndarray(data, shape, stride, offset);
      expect(array.shape).toEqual(part.shape);
      expect(array.size).toBe(part.length);
      expect(positions(part.shape).map((position) => array.get(...position))).toEqual([...part.data]);
      // Without a copy, gaps or not, wherever the whole tensor is a view.
      const ofWhole = data.buffer === whole.data.buffer && data.byteOffset === whole.data.byteOffset;
      expect(ofWhole).toBe(whole.isView || whole === part);
    });
  });

  it.each(WITHOUT_NDARRAY)('%s has no ndarray', async (dtype) => {
    for (const part of [file.tensor(dtype), file.tensor(dtype).slice(1), file.tensor(dtype).slice([0, 0])]) {
      const { code, message } = await failureOf(() => part.toNdarray());
      expect([code, message]).toEqual(['INVALID_ARGUMENT', expect.stringContaining(dtype)]);
    }
  });

  it('ndarray of a scalar, and of an empty tensor', () => {
    const { data, shape, stride, offset } = file.tensor('scalar').toNdarray();
    expect(ndarray(data, shape, stride, offset).get()).toBe(file.tensor('scalar').data[0]);
    const empty = file.tensor('empty').toNdarray();
    expect(ndarray(empty.data, empty.shape, empty.stride, empty.offset).shape).toEqual([2, 0, 3]);
  });

  describe.each(Object.keys(SLICES))('onnxruntime tensor of %s', (which) => {
    it.each(WITH_ORT)('%s', (dtype) => {
      const part = SLICES[which]!(file.tensor(dtype));
      const [type, data, dims] = part.toOrt();
      const tensor = new Tensor(type as Tensor.Type, data as Tensor.DataType, dims);
      expect([tensor.type, tensor.dims, tensor.size]).toEqual([ORT_TYPES[dtype], part.shape, part.length]);
      const bytes = tensor.data as unknown as ArrayBufferView;
      expect(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)).toEqual(Uint8Array.from(part.bytes));
      if (part.isView) expect(bytes.buffer).toBe(part.bytes.buffer);
    });
  });

  it.each(WITHOUT_ORT)('%s has no onnxruntime tensor', async (dtype) => {
    for (const part of [file.tensor(dtype), file.tensor(dtype).slice(1)]) {
      const { code, message } = await failureOf(() => part.toOrt());
      expect([code, message]).toEqual(['INVALID_ARGUMENT', expect.stringContaining(dtype)]);
    }
  });

  it.each(WITHOUT_ORT.filter((dtype) => dtype !== 'C64'))('%s reaches onnxruntime by way of float32', (dtype) => {
    const part = file.tensor(dtype);
    const tensor = new Tensor('float32', part.toFloat32Array(), part.shape);
    expect(tensor.size).toBe(part.length);
  });

  it('shapes and dims are the caller’s to change', () => {
    const tensor = file.tensor('F32');
    const parts = tensor.toNdarray();
    parts.shape.push(1);
    parts.stride.push(1);
    tensor.toOrt()[2].push(1);
    expect([tensor.shape, tensor.toNdarray().shape, tensor.toOrt()[2]]).toEqual([SHAPE, SHAPE, SHAPE]);
  });

  it('neither is to be had of a closed file', async () => {
    const closed = open(door);
    const parts = [closed.tensor('F32'), closed.tensor('F32').slice(null, 0), closed.tensor('empty')];
    closed.close();
    for (const part of parts) {
      expect(await codeOf(() => part.toNdarray())).toBe('CLOSED');
      expect(await codeOf(() => part.toOrt())).toBe('CLOSED');
    }
  });
});

describe('a write through an ndarray', () => {
  it('is a write into the mapping', () => {
    using file = open('a mapping');
    const tensor = file.tensor('F32');
    const { data, shape, stride, offset } = tensor.slice(null, [null, null, -1], 3).toNdarray();
    const array = ndarray(data, shape, stride, offset);
    array.set(2, 0, -1.5);
    expect(tensor.data[2 * 16 + 3 * 4 + 3]).toBe(-1.5);
    expect([...tensor.slice(2, 3).data].at(-1)).toBe(-1.5);
  });
});

it('every dtype has a tensor in each library or an error', () => {
  expect(WITH_NDARRAY.every((dtype) => bitsOf(dtype) >= 8)).toBe(true);
  expect(new Set([...WITH_ORT, ...WITHOUT_ORT])).toEqual(new Set(DTYPES));
});

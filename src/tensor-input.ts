// Owns what a caller can give as tensors to be written, and turns it into payloads that know their size and write
// themselves. Refuses what has no dtype, or a shape that does not match its bytes.

import { types } from 'node:util';

import { type Dtype, dtypeCode, impliedDtype } from './dtype.js';
import { quote, SafeTensorsError, shown } from './errors.js';
import { ArrayPayload, type Payload, ViewPayload } from './payload.js';
import { isTensorView, TensorView } from './tensor.js';
import { byteLengthOf, elementsIn, isRecord, shapeText } from './writing.js';

/** A tensor as its parts. */
export interface TensorValue {
  /** Implied by the class of a typed array: Float32Array is F32, Uint16Array U16 … BF16, F16, BOOL and the narrow floats have to be named. */
  readonly dtype?: Dtype | undefined;
  /** Lengths of the dimensions, `[]` for a scalar. Without it, one dimension. */
  readonly shape?: readonly number[] | undefined;
  /** The elements in C order, little-endian. Of a view its own part is written, not its whole buffer. */
  readonly data: ArrayBufferView | ArrayBufferLike;
}

/** What is written under one name: a tensor of an open file, its parts, or a typed array of one dimension. */
export type TensorInput = TensorView | TensorValue | NumberArray;

/** The typed arrays whose class says what their elements are. */
export type NumberArray =
  | BigInt64Array
  | BigUint64Array
  | Float32Array
  | Float64Array
  | Int8Array
  | Int16Array
  | Int32Array
  | Uint8Array
  | Uint8ClampedArray
  | Uint16Array
  | Uint32Array;

/** Tensors by their names: a plain object, a Map, an open file or model, or any other pairs. */
export type TensorInputs = Readonly<Record<string, TensorInput>> | Iterable<readonly [string, TensorInput]>;

/** Everything that is to be written, in the order given. Throws INVALID_TENSOR, INVALID_ARGUMENT, CLOSED. */
export function payloadsOf(tensors: TensorInputs): Payload[] {
  const payloads: Payload[] = [];
  for (const [name, tensor] of pairsOf(tensors)) {
    if (typeof name !== 'string') throw invalid(`a tensor's name is of type ${typeof name}, not a string`);
    payloads.push(isTensorView(tensor) ? new ViewPayload(name, tensor) : arrayPayload(name, tensor));
  }
  return payloads;
}

function* pairsOf(tensors: TensorInputs): Generator<readonly [unknown, unknown], undefined, unknown> {
  const isIterable =
    typeof tensors === 'object' && tensors !== null && typeof Reflect.get(tensors, Symbol.iterator) === 'function';
  if (!isIterable && isRecord(tensors)) {
    yield* Object.entries(tensors);
    return;
  }
  // A promise or a buffer has no fields: taken for an object without tensors, it would make an empty file.
  if (!isIterable || ArrayBuffer.isView(tensors)) {
    throw new SafeTensorsError(
      'INVALID_ARGUMENT',
      'tensors are given by their names: as a plain object, a Map, an open file, or pairs of a name and a tensor',
    );
  }
  for (const pair of tensors as Iterable<unknown>) {
    if (!Array.isArray(pair) || pair.length !== 2) {
      throw new SafeTensorsError('INVALID_ARGUMENT', 'an iterable of tensors has to give pairs of a name and a tensor');
    }
    yield [pair[0], pair[1]];
  }
}

function arrayPayload(name: string, tensor: unknown): Payload {
  const { dtype, shape, data } = partsOf(name, tensor);
  if (!ArrayBuffer.isView(data) && !types.isAnyArrayBuffer(data)) {
    throw invalid(`tensor ${quote(name)} has no data: a typed array, a DataView or an ArrayBuffer is needed`, name);
  }
  const known = dtypeOf(name, dtype, data);
  const bytes = bytesOf(name, data);
  const dims = shape === undefined ? [elementsIn(name, known, bytes.byteLength)] : shapeOf(name, shape);
  const needed = byteLengthOf(name, known, dims);
  if (needed !== bytes.byteLength) {
    throw invalid(
      `tensor ${quote(name)} of dtype ${known} and shape ${shapeText(dims)} takes ${needed} bytes, but its data has ${bytes.byteLength}`,
      name,
    );
  }
  return new ArrayPayload(name, known, dims, bytes);
}

function partsOf(name: string, tensor: unknown): { dtype?: unknown; shape?: unknown; data?: unknown } {
  if (types.isTypedArray(tensor)) return { data: tensor };
  // One that is of the class and has nothing in it would throw what it has no code for.
  const isHollow = tensor instanceof TensorView;
  if (typeof tensor === 'object' && tensor !== null && 'data' in tensor && !isHollow) return tensor;
  throw invalid(
    `tensor ${quote(name)} is none: a TensorView, a typed array or { dtype, shape, data } is needed, and a DataView or ArrayBuffer as \`data\``,
    name,
  );
}

function dtypeOf(name: string, dtype: unknown, data: ArrayBufferView | ArrayBufferLike): Dtype {
  if (dtype === undefined) {
    const implied = impliedDtype(types.isTypedArray(data) ? data[Symbol.toStringTag] : '');
    if (implied !== undefined) return implied;
    throw invalid(`tensor ${quote(name)} needs a dtype: only a typed array implies one`, name);
  }
  if (typeof dtype === 'string' && dtypeCode(dtype) >= 0) return dtype as Dtype;
  throw invalid(`tensor ${quote(name)} has the dtype ${shown(dtype)}, which is none of the format`, name);
}

function shapeOf(name: string, shape: unknown): number[] {
  if (Array.isArray(shape)) return Array.from(shape as unknown[]) as number[]; // byteLengthOf looks at what is in it
  throw invalid(`the shape of tensor ${quote(name)} is no array`, name);
}

/** A window of fixed length: what happens to the caller's array later can be seen on it. */
function bytesOf(name: string, data: ArrayBufferView | ArrayBufferLike): Uint8Array {
  try {
    // An array without memory has length 0, like an empty one; this asks the runtime which it is.
    if (types.isTypedArray(data)) Uint8Array.prototype.indexOf.call(data, 0, data.length);
    if (!ArrayBuffer.isView(data)) return new Uint8Array(data, 0, data.byteLength);
    return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  } catch (cause) {
    throw new SafeTensorsError(
      'INVALID_TENSOR',
      `the data of tensor ${quote(name)} is gone: it was transferred away or its buffer resized`,
      { tensor: name, cause },
    );
  }
}

function invalid(message: string, tensor?: string): SafeTensorsError {
  return new SafeTensorsError('INVALID_TENSOR', message, { tensor });
}

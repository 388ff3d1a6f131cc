// Owns the shapes in which other libraries take a tensor: scijs' ndarray and onnxruntime's Tensor.
// Refuses dtypes that the other side lacks, and never imports it.

import { type DataOf, type Dtype, hasElementPerNumber, type OrtTypeOf, ortTypeOf } from './dtype.js';
import { SafeTensorsError } from './errors.js';
import type { Region } from './region.js';

/** Arguments of scijs' `ndarray`. Strides and offset are in elements. */
export interface NdarrayParts<D extends Dtype = Dtype> {
  data: DataOf<D>;
  shape: number[];
  stride: number[];
  offset: number;
}

/** Arguments of onnxruntime's `new Tensor(type, data, dims)`. */
export type OrtParts<D extends Dtype = Dtype> = [type: OrtTypeOf<D>, data: DataOf<D>, dims: number[]];

/** The region of a whole tensor's data, for scijs. */
export function ndarrayParts<D extends Dtype>(dtype: D, data: DataOf<D>, region: Region): NdarrayParts<D> {
  if (!hasElementPerNumber(dtype)) {
    throw new SafeTensorsError('INVALID_ARGUMENT', `${dtype} has no ndarray: an element of its data is not one number`);
  }
  return { data, shape: [...region.shape], stride: [...region.strides], offset: region.offset };
}

/** A tensor for onnxruntime; `data` is asked for only when the dtype is known there. */
export function ortParts<D extends Dtype>(dtype: D, data: () => DataOf<D>, shape: readonly number[]): OrtParts<D> {
  const type = ortTypeOf(dtype);
  if (type === undefined) {
    throw new SafeTensorsError(
      'INVALID_ARGUMENT',
      `onnxruntime has no tensor of ${dtype}: convert it with toFloat32Array()`,
    );
  }
  return [type as OrtTypeOf<D>, data(), [...shape]];
}

// Owns the list of public names. Refuses code of its own.

import './host.js';

export type { ConversionOptions } from './conversion.js';
export type { DataOf, Dtype, TensorData } from './dtype.js';
export { type ErrorCode, SafeTensorsError } from './errors.js';
export type { FileSystem } from './file-system.js';
export type { Header, TensorInfo } from './header.js';
export type { ShardOptions, SliceIndex } from './indexing.js';
export type { NdarrayParts, OrtParts } from './interop.js';
export { openModel, SafeTensorsModel } from './model.js';
export type { Shard } from './model-files.js';
export { open, openSync, parse, readHeader } from './open.js';
export type { OpenOptions } from './options.js';
export type { PrefetchOptions } from './prefetch.js';
export { SafeTensors } from './safetensors.js';
export { type SaveOptions, type SaveProgress, save } from './save.js';
export { type SaveModelOptions, saveModel } from './save-model.js';
export type { TensorNames } from './selection.js';
export { type SerializeOptions, serialize } from './serialize.js';
export type { Backend, Protection } from './source.js';
export { type Misaligned, TensorView } from './tensor.js';
export type { NumberArray, TensorInput, TensorInputs, TensorValue } from './tensor-input.js';
export { type Residency, TensorMap } from './tensor-map.js';
export type { MetadataInput } from './writing.js';

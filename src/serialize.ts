// Owns the writing of a whole file into memory. Refuses what no single buffer of the runtime holds: save() has no limit.

import { constants } from 'node:buffer';

import { allocateBytes } from './allocation.js';
import { SafeTensorsError } from './errors.js';
import { keptMetadata } from './kept-metadata.js';
import { type SerializeOptions, serializeOptions } from './save-options.js';
import { payloadsOf, type TensorInputs } from './tensor-input.js';
import { planFile } from './writing.js';

/**
 * A whole safetensors file as bytes. Tensors are laid out by dtype, the widest first, then by name, as the reference writer
 * does; their order in `tensors` does not matter. Tensors that share memory are written once for each name.
 * Throws INVALID_TENSOR, INVALID_ARGUMENT, CLOSED, and BUFFER_TOO_LARGE.
 */
export function serialize(tensors: TensorInputs, options: SerializeOptions = {}): Uint8Array<ArrayBuffer> {
  const { metadata = keptMetadata(tensors), alignment } = serializeOptions(options);
  const plan = planFile(payloadsOf(tensors), metadata, alignment);
  if (plan.byteLength > constants.MAX_LENGTH) {
    throw new SafeTensorsError(
      'BUFFER_TOO_LARGE',
      `the file has ${plan.byteLength} bytes; one buffer of this runtime holds ${constants.MAX_LENGTH} at most: save() writes it`,
    );
  }
  const file = allocateBytes(plan.byteLength);
  file.set(plan.head);
  let at = plan.head.length;
  for (const payload of plan.tensors) {
    payload.copyTo(file.subarray(at, at + payload.byteLength));
    at += payload.byteLength;
  }
  return file;
}

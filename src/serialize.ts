// Owns the writing of a whole file into memory. Refuses what no single buffer of the runtime holds: save() has no limit.

import { constants } from 'node:buffer';

import { allocateBytes } from './allocation.js';
import { SafeTensorsError } from './errors.js';
import { payloadsOf, type TensorInputs } from './tensor-input.js';
import { type MetadataInput, planFile } from './writing.js';

/** What goes into a file beside its tensors. */
export interface SerializeOptions {
  /** Written as `__metadata__`, its keys sorted. */
  readonly metadata?: MetadataInput | undefined;
  /**
   * The data starts at a multiple of so many bytes of the file: a power of two from 8, the default and the reference
   * writer's, to 2 MiB. 64 or 4096 serve readers that want aligned memory.
   */
  readonly alignment?: number | undefined;
}

/**
 * A whole safetensors file as bytes. Tensors are laid out by dtype, the widest first, then by name, as the reference writer
 * does; their order in `tensors` does not matter. Tensors that share memory are written once for each name.
 * Throws INVALID_TENSOR, INVALID_ARGUMENT, CLOSED, and BUFFER_TOO_LARGE.
 */
export function serialize(tensors: TensorInputs, options: SerializeOptions = {}): Uint8Array<ArrayBuffer> {
  const plan = planFile(payloadsOf(tensors), options.metadata, options.alignment);
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

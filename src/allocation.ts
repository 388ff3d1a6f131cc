// Owns memory of a length that comes from a file. Refuses lengths that this runtime or machine has no room for, with a code.

import { SafeTensorsError } from './errors.js';

/** Fresh bytes. Throws BUFFER_TOO_LARGE. */
export function allocateBytes(byteLength: number): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(byteLength);
  } catch (cause) {
    throw tooLarge(byteLength, cause);
  }
}

/** Fresh floats. Throws BUFFER_TOO_LARGE. */
export function allocateFloats(count: number): Float32Array<ArrayBuffer> {
  try {
    return new Float32Array(count);
  } catch (cause) {
    throw tooLarge(count * Float32Array.BYTES_PER_ELEMENT, cause);
  }
}

function tooLarge(byteLength: number, cause: unknown): SafeTensorsError {
  return new SafeTensorsError('BUFFER_TOO_LARGE', `there is no memory for ${byteLength} bytes in one buffer`, {
    cause,
  });
}

// Owns memory of a length that comes from a file, in the largest pages that the system has for it.
// Refuses lengths that this runtime or machine has no room for, with a code; and to know who asks the system for pages.

import { SafeTensorsError } from './errors.js';

/**
 * From so many bytes on large pages are asked for: what fills fresh memory waits for a page fault for each 4 KiB, most of
 * the time that a copy takes. The engine takes so much from the system untouched.
 */
const LARGE = 2 ** 22;

let prepare: ((array: ArrayBufferView) => void) | undefined;

/** Has large arrays prepared, before anything is written to them. */
export function prepareLargeArrays(by: (array: ArrayBufferView) => void): void {
  prepare = by;
}

/** A class of typed arrays. */
export interface ArrayClass<T> {
  readonly BYTES_PER_ELEMENT: number;
  new (length: number): T;
}

/** Fresh bytes. Throws BUFFER_TOO_LARGE. */
export function allocateBytes(byteLength: number): Uint8Array<ArrayBuffer> {
  return allocate(Uint8Array, byteLength);
}

/** Fresh floats. Throws BUFFER_TOO_LARGE. */
export function allocateFloats(count: number): Float32Array<ArrayBuffer> {
  return allocate(Float32Array, count);
}

/** A fresh array. Throws BUFFER_TOO_LARGE. */
export function allocate<T extends ArrayBufferView>(type: ArrayClass<T>, length: number): T {
  let array: T;
  try {
    array = new type(length);
  } catch (cause) {
    throw tooLarge(length * type.BYTES_PER_ELEMENT, cause);
  }
  if (array.byteLength >= LARGE) prepare?.(array);
  return array;
}

function tooLarge(byteLength: number, cause: unknown): SafeTensorsError {
  return new SafeTensorsError('BUFFER_TOO_LARGE', `there is no memory for ${byteLength} bytes in one buffer`, {
    cause,
  });
}

// Owns conversions of mapped memory on native threads: pieces in lanes, each piece into memory that JavaScript cannot
// reach meanwhile. Refuses to let a thread write into a caller's array; it could be transferred or freed under it.

import type { FloatsHandle, MappingHandle, NativeBinding } from './binding.js';
import { type ConversionOptions, detachedFault, PIECE_ELEMENTS, threadsOf } from './conversion.js';
import type { Dtype } from './dtype.js';
import { SafeTensorsError } from './errors.js';
import type { StridedRuns } from './gathering.js';

export interface MappedRuns {
  readonly binding: NativeBinding;
  readonly handle: MappingHandle;
  /** Position of the runs in the mapping is `begin + runs.offset`. */
  readonly begin: number;
  readonly runs: StridedRuns;
  readonly dtype: Dtype;
  /** Elements of all runs. */
  readonly count: number;
  /** Throws CLOSED once the mapping was given back. */
  requireOpen(): void;
}

/** Converts on up to `threads` threads; resolves to `target` or to a fresh array. Rejects as `toFloat32` says. */
export async function convertOnThreads(source: MappedRuns, options: ConversionOptions): Promise<Float32Array> {
  const { binding, count } = source;
  const { target } = options;
  const lanes = Math.min(threadsOf(options.threads), Math.ceil(count / PIECE_ELEMENTS));
  const result = target === undefined ? allocate(binding, count) : undefined;
  let next = 0;
  let stopped = false;

  const lane = async (): Promise<void> => {
    const scratch = result ?? allocate(binding, Math.min(PIECE_ELEMENTS, count));
    while (next < count && !stopped) {
      options.signal?.throwIfAborted();
      source.requireOpen();
      const at = next;
      const length = Math.min(PIECE_ELEMENTS, count - at);
      next += length;
      await convertPiece(source, at, scratch, result === undefined ? 0 : at, length);
      if (target === undefined || stopped) continue;
      options.signal?.throwIfAborted();
      source.requireOpen();
      if (target.length !== count || !binding.copyFloats(scratch, 0, length, target, at)) throw detachedFault();
    }
  };
  // Each lane ends its piece before the promise settles, so that nothing runs on.
  const outcomes = await Promise.allSettled(
    Array.from({ length: lanes }, () =>
      lane().catch((error: unknown) => {
        stopped = true;
        throw error;
      }),
    ),
  );
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  options.signal?.throwIfAborted();
  return target ?? exposed(binding, result!, count);
}

function convertPiece(
  { binding, handle, begin, runs, dtype }: MappedRuns,
  first: number,
  floats: FloatsHandle,
  at: number,
  count: number,
): Promise<void> {
  const { offset, runBytes, counts, strides } = runs;
  return binding.convertInto(handle, begin + offset, runBytes, counts, strides, dtype, first, floats, at, count);
}

function allocate(binding: NativeBinding, count: number): FloatsHandle {
  const floats = binding.allocateFloats(count);
  if (floats !== null) return floats;
  throw new SafeTensorsError('BUFFER_TOO_LARGE', `the system has no memory for ${count} floats (${count * 4} bytes)`);
}

function exposed(binding: NativeBinding, floats: FloatsHandle, count: number): Float32Array {
  const buffer = binding.exposeFloats(floats);
  if (buffer !== null) return new Float32Array(buffer);
  const copy = new Float32Array(count);
  binding.copyFloats(floats, 0, count, copy, 0);
  return copy;
}

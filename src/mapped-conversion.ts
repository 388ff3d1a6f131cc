// Owns conversions of mapped memory on native threads: pieces in lanes, each piece into memory that JavaScript cannot
// reach meanwhile. Refuses to let a thread write into a caller's array; it could be transferred or freed under it.

import { allocateFloats } from './allocation.js';
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
  let next = 0;
  let stopped = false;

  /** Converts pieces into `floats`: the whole result, or with a target one piece at a time, which is copied out. */
  const run = async (floats: FloatsHandle): Promise<void> => {
    while (next < count && !stopped) {
      options.signal?.throwIfAborted();
      source.requireOpen();
      const at = next;
      const length = Math.min(PIECE_ELEMENTS, count - at);
      next += length;
      await convertPiece(source, at, floats, target === undefined ? at : 0, length);
      if (target === undefined || stopped) continue;
      options.signal?.throwIfAborted();
      source.requireOpen();
      if (target.length !== count || !binding.copyFloats(floats, 0, length, target, at)) throw detachedFault();
    }
  };
  // Each lane ends its piece before the promise settles, so that nothing runs on.
  const runAll = async (lane: () => Promise<void>): Promise<void> => {
    const settled = await Promise.allSettled(
      Array.from({ length: lanes }, () =>
        lane().catch((error: unknown) => {
          stopped = true;
          throw error;
        }),
      ),
    );
    for (const outcome of settled) if (outcome.status === 'rejected') throw outcome.reason;
    options.signal?.throwIfAborted();
  };

  if (target !== undefined) {
    await runAll(() => withFloats(binding, Math.min(PIECE_ELEMENTS, count), run));
    return target;
  }
  return withFloats(binding, count, async (floats) => {
    await runAll(() => run(floats));
    return exposed(binding, floats, count);
  });
}

/** Allocates floats and gives them back however their use ends; the garbage collector would do so, but late. */
async function withFloats<T>(
  binding: NativeBinding,
  count: number,
  use: (floats: FloatsHandle) => Promise<T>,
): Promise<T> {
  const floats = binding.allocateFloats(count);
  if (floats === null) {
    throw new SafeTensorsError('BUFFER_TOO_LARGE', `the system has no memory for ${count} floats (${count * 4} bytes)`);
  }
  try {
    return await use(floats);
  } finally {
    binding.releaseFloats(floats);
  }
}

function convertPiece(
  { binding, handle, begin, runs, dtype }: MappedRuns,
  first: number,
  floats: FloatsHandle,
  at: number,
  count: number,
): Promise<unknown> {
  const { offset, runBytes, counts, strides } = runs;
  return binding.convertInto(handle, begin + offset, runBytes, counts, strides, dtype, first, floats, at, count);
}

function exposed(binding: NativeBinding, floats: FloatsHandle, count: number): Float32Array {
  const buffer = binding.exposeFloats(floats);
  if (buffer !== null) return new Float32Array(buffer);
  const copy = allocateFloats(count);
  binding.copyFloats(floats, 0, count, copy, 0);
  return copy;
}

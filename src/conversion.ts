// Owns the way from bytes of a source to float32: at once, or in pieces that leave the event loop free and can be
// aborted. Refuses to know where the bytes come from; the arithmetic is convert.ts and its native twin.

import { availableParallelism } from 'node:os';
import { setImmediate } from 'node:timers/promises';

import { optionalBinding } from './binding.js';
import { convertToFloat32 } from './convert.js';
import { bitsOf, type Dtype } from './dtype.js';
import { SafeTensorsError, shown } from './errors.js';
import { type FileRuns, overlapFault, overlaps, splitRuns } from './gathering.js';

/** How a conversion off the event loop runs. */
export interface ConversionOptions {
  /** Filled and returned; without it, fresh memory. Reusing one is what makes a conversion fast. */
  readonly target?: Float32Array | undefined;
  /** Rejects the promise with the signal's reason; nothing runs on. */
  readonly signal?: AbortSignal | undefined;
  /** Most threads to use, 1 to 64. Default 1. */
  readonly threads?: number | undefined;
}

/** Elements converted between two looks at the signal: a few milliseconds of one thread, and whole bytes of any dtype. */
export const PIECE_ELEMENTS = 2 ** 19;

const MOST_THREADS = 64;

/** Converts packed elements, natively where there is an addon. Throws INVALID_ARGUMENT when `target` overlaps them. */
export function convertBytes(dtype: Dtype, source: Uint8Array, target: Float32Array): void {
  const targetBytes = new Uint8Array(target.buffer, target.byteOffset, target.byteLength);
  if (overlaps(source, targetBytes)) throw overlapFault();
  const binding = optionalBinding();
  if (binding === undefined) convertToFloat32(dtype, source, target);
  else if (!binding.convert(dtype, source, target)) throw overlapFault();
}

/** The options, each read once. Throws INVALID_ARGUMENT. */
export function conversionOptions(options: ConversionOptions): ConversionOptions {
  if (typeof options !== 'object' || options === null) throw invalid('the options of a conversion are an object');
  if (ArrayBuffer.isView(options)) throw invalid('toFloat32 takes its target as an option: { target }');
  const { target, signal, threads } = options;
  requireSignal(signal);
  threadsOf(threads);
  return { target, signal, threads };
}

/** Throws INVALID_ARGUMENT for what is neither undefined nor an AbortSignal, by its class and by its answers. */
export function requireSignal(signal: AbortSignal | undefined): void {
  if (signal === undefined) return;
  try {
    if (signal instanceof AbortSignal && typeof signal.aborted === 'boolean') return;
  } catch {
    // Made of the prototype alone: it has no state to ask for.
  }
  throw invalid('signal is an AbortSignal');
}

/** How many threads to use, by the option and the machine. Throws INVALID_ARGUMENT. */
export function threadsOf(threads: number | undefined): number {
  const wanted = threads ?? 1;
  if (!Number.isInteger(wanted) || wanted < 1 || wanted > MOST_THREADS) {
    throw invalid(`threads is an integer from 1 to ${MOST_THREADS}, not ${shown(threads)}`);
  }
  return Math.min(wanted, Math.max(availableParallelism(), 4));
}

function invalid(message: string): SafeTensorsError {
  return new SafeTensorsError('INVALID_ARGUMENT', message);
}

/** The error of a target that was long enough when the conversion began. */
export function detachedFault(): SafeTensorsError {
  return new SafeTensorsError('INVALID_ARGUMENT', 'the target was transferred away or shortened during the conversion');
}

/** The error of a file that was open when the conversion began. */
export function closedFault(): SafeTensorsError {
  return new SafeTensorsError('CLOSED', 'the file was closed');
}

/**
 * Converts runs piece by piece on this thread, with a turn of the event loop between two. `read` gives the bytes of one
 * piece, which lies within `mostSpan` bytes or is a single run. Rejects with the signal's reason.
 */
export async function convertInTurns(
  dtype: Dtype,
  runs: FileRuns,
  target: Float32Array,
  signal: AbortSignal | undefined,
  mostSpan: number,
  read: (piece: FileRuns) => Uint8Array | Promise<Uint8Array>,
): Promise<void> {
  const { length } = target;
  const most = (PIECE_ELEMENTS * bitsOf(dtype)) / 8;
  let at = 0;
  for (const piece of splitRuns(runs, most, mostSpan)) {
    signal?.throwIfAborted();
    const count = (piece.byteLength * 8) / bitsOf(dtype);
    // What is there is converted at once: a turn later its owner may have given the memory away.
    const given = read(piece);
    const bytes = given instanceof Promise ? await given : given;
    if (target.length !== length) throw detachedFault();
    convertBytes(dtype, bytes, target.subarray(at, at + count));
    at += count;
    await setImmediate();
  }
  signal?.throwIfAborted();
}

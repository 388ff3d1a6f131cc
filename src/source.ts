// Owns the words between what the user holds and where bytes come from: a range of a file, borrowed as memory.
// Refuses to know what the bytes mean.

import type { ConversionOptions } from './conversion.js';
import type { Dtype, TensorData, TypedArrayConstructor } from './dtype.js';
import type { FileRuns } from './gathering.js';

/** Where the bytes of a file come from. */
export type Backend = 'mmap' | 'read' | 'memory';

/** What happens to a write into a mapped view. */
export type Protection = 'copy-on-write' | 'read-only';

/** Bytes of ranges [begin, end), [begin, end) …. */
export function lengthOf(ranges: readonly number[]): number {
  let sum = 0;
  for (let i = 0; i < ranges.length; i += 2) sum += ranges[i + 1]! - ranges[i]!;
  return sum;
}

/** A file behind memory. The caller closes it. */
export interface Reopened {
  /** Whether the file has what `bytes` gives of [begin, end): nobody has written to that memory, as far as can be told. */
  isUnwritten(begin: number, end: number): boolean;
  /** Reads [begin, end) into all of `target`, off the event loop. Rejects with TRUNCATED_DATA, READ_FAILED. */
  read(begin: number, end: number, target: Uint8Array): Promise<unknown>;
  close(): void;
}

export interface Source {
  readonly backend: Backend;
  /** Undefined where nothing is mapped. */
  readonly protection: Protection | undefined;
  /** Whether `bytes` is the file's own memory, the same on every call, rather than a fresh copy. */
  readonly aliases: boolean;
  /** Longest range that `bytes` can hand out. */
  readonly maxLength: number;
  /**
   * The bytes [begin, end) of the file, begin < end. Throws BUFFER_TOO_LARGE beyond `maxLength`, TRUNCATED_DATA when the
   * file has become shorter, CLOSED when the memory is gone.
   */
  bytes(begin: number, end: number): Uint8Array;
  /** The same as elements of a class, whose size divides both the length and `byteOffsetOf(begin)`. */
  array(begin: number, end: number, type: TypedArrayConstructor): TensorData;
  /** The byteOffset that `bytes` has for a range that starts at `begin`, modulo 8; reads nothing. */
  byteOffsetOf(begin: number): number;
  /**
   * Copies runs of bytes to the start of `target`; positions in `runs` count from byte `begin` of the file. Touches no
   * other bytes. Throws INVALID_ARGUMENT when `target` overlaps what is copied, and what `bytes` throws.
   */
  gather(begin: number, runs: FileRuns, target: Uint8Array): void;
  /** Converts runs of whole elements to as many floats as `target` has. Throws what `gather` throws. */
  convert(begin: number, runs: FileRuns, dtype: Dtype, target: Float32Array): void;
  /** The same off the event loop, or in pieces between its turns; resolves to the target, fresh where none is given. */
  convertAsync(
    begin: number,
    runs: FileRuns,
    dtype: Dtype,
    count: number,
    options: ConversionOptions,
  ): Promise<Float32Array>;
  /**
   * Copies the bytes from `begin` on into all of `target`, off the event loop where they have to be read. Throws or rejects
   * with what `bytes` throws.
   */
  fill(begin: number, target: Uint8Array): void | Promise<void>;
  /** The file that the memory is of, to be read beside it; undefined where there is none, or where its path leads elsewhere. */
  reopen(): Promise<Reopened | undefined>;
  /**
   * Makes ranges of bytes [begin, end), [begin, end) … ready to be read from what `bytes` gave, off the event loop. Never
   * fails: what cannot be read says so when it is.
   */
  populate(ranges: readonly number[]): Promise<unknown> | undefined;
  /**
   * Brings ranges [begin, end), [begin, end) … into memory, off the event loop; the caller keeps them short. Rejects with
   * TRUNCATED_DATA, CLOSED, and the system's error, never with a signal.
   */
  bringIn(ranges: readonly number[]): Promise<void>;
  /** Asks that what is yet to be read of these ranges come in the system's largest pages. A hint. */
  askForLargePages(ranges: readonly number[]): Promise<void> | undefined;
  /** How many bytes of the ranges are in memory now; undefined where the system does not say. */
  residentBytes(ranges: readonly number[]): number | undefined;
  /** Gives the whole pages within the ranges back to the system, but for those that were written to. A hint. */
  evict(ranges: readonly number[]): void;
  /** Throws CLOSED when the memory was taken away from under the source. */
  requireIntact(): void;
  /** Gives the bytes back: what was handed out as the file's own memory has length 0 afterwards, where that can be done. */
  close(): void;
}

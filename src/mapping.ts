// Owns a mapped file: from the descriptor to the mapping, what is done with its bytes natively, and its end.
// Refuses to keep the descriptor, and to hold buffers: mapped-buffers.ts does.

import { getSystemErrorName } from 'node:util';

import { type MappingHandle, type NativeBinding, nativeBinding } from './binding.js';
import { type ConversionOptions, closedFault } from './conversion.js';
import type { Dtype, TensorData, TypedArrayConstructor } from './dtype.js';
import { type FileRuns, overlapFault } from './gathering.js';
import { MAX_BUFFER_LENGTH, MappedBuffers } from './mapped-buffers.js';
import { convertOnThreads } from './mapped-conversion.js';
import { askForLargePages, bringIn, evict, type MappedPages, residentBytes } from './mapped-pages.js';
import type { Origin } from './origin.js';
import type { SegmentPlan } from './segments.js';
import type { Protection, Reopened, Source } from './source.js';

/** Most mappings of one process; half of what Linux allows in all, native code stops here. */
const MOST_MAPPINGS = 32768;

// By the buffers over them; one that the user has moved is no longer known.
const mapped = new WeakMap<ArrayBufferLike, MappedSource>();

/** The mapped file that a buffer is over, if it is. */
export function mappedSourceOf(buffer: ArrayBufferLike): MappedSource | undefined {
  return mapped.get(buffer);
}

/** How many mappings this process holds, over all threads and all copies of this library. */
export function liveMappings(): number {
  return nativeBinding().liveMappings();
}

/** Whether this runtime can hand out mapped memory at all. Throws BINDING_NOT_FOUND. */
export function canMap(): boolean {
  return nativeBinding().allowsExternalBuffers();
}

export class MappedSource implements Source {
  readonly backend = 'mmap';
  readonly protection: Protection;
  readonly aliases = true;
  readonly maxLength = MAX_BUFFER_LENGTH;
  readonly #binding: NativeBinding;
  readonly #handle: MappingHandle;
  readonly #pages: MappedPages;
  readonly #buffers: MappedBuffers;
  #closed = false;

  /** Maps a file of `byteLength` bytes; the descriptor may be closed afterwards. Throws the system's error. */
  constructor(descriptor: number, byteLength: number, protection: Protection, plan: SegmentPlan, origin: Origin) {
    this.#binding = nativeBinding();
    const handle = this.#binding.map(descriptor, byteLength, protection === 'read-only');
    if (typeof handle === 'number') throw systemError(handle, byteLength);
    this.#handle = handle;
    this.protection = this.#binding.isReadOnly(handle) ? 'read-only' : 'copy-on-write';
    const memory = { binding: this.#binding, handle, requireOpen: () => this.#requireOpen() };
    this.#pages = { ...memory, origin };
    this.#buffers = new MappedBuffers({ ...memory, plan, onBuffer: (buffer) => mapped.set(buffer, this) });
  }

  bytes(begin: number, end: number): Uint8Array {
    return this.array(begin, end, Uint8Array) as Uint8Array;
  }

  array(begin: number, end: number, type: TypedArrayConstructor): TensorData {
    return this.#buffers.array(begin, end, type);
  }

  byteOffsetOf(begin: number): number {
    return this.#buffers.byteOffsetOf(begin);
  }

  gather(begin: number, runs: FileRuns, target: Uint8Array): void {
    this.#requireOpen();
    const { runBytes, counts, strides, offset } = runs;
    if (!this.#binding.gather(this.#handle, begin + offset, runBytes, counts, strides, target)) throw overlapFault();
  }

  convert(begin: number, runs: FileRuns, dtype: Dtype, target: Float32Array): void {
    this.#requireOpen();
    const { runBytes, counts, strides, offset } = runs;
    if (!this.#binding.convertMapped(this.#handle, begin + offset, runBytes, counts, strides, dtype, target)) {
      throw overlapFault();
    }
  }

  async convertAsync(
    begin: number,
    runs: FileRuns,
    dtype: Dtype,
    count: number,
    options: ConversionOptions,
  ): Promise<Float32Array> {
    this.#requireOpen();
    const binding = this.#binding;
    const { target } = options;
    // Once for all pieces: an early one must not be written over what a later one reads.
    if (target !== undefined && binding.overlaps(this.#handle, begin + runs.minByte, begin + runs.maxByte, target)) {
      throw overlapFault();
    }
    const requireOpen = () => this.#requireOpen();
    return convertOnThreads({ binding, handle: this.#handle, begin, runs, dtype, count, requireOpen }, options);
  }

  fill(begin: number, target: Uint8Array): void {
    target.set(this.bytes(begin, begin + target.byteLength));
  }

  async reopen(): Promise<Reopened | undefined> {
    const file = await this.#pages.origin.open();
    if (file === undefined) return undefined;
    const isUnwritten = (begin: number, end: number) => {
      this.#requireOpen();
      return this.#binding.isUnwritten(this.#handle, begin, end - begin);
    };
    return { isUnwritten, read: (begin, end, target) => file.read(begin, end, target), close: () => file.close() };
  }

  populate(ranges: readonly number[]): Promise<unknown> | undefined {
    return this.#closed ? undefined : this.#binding.bringIn(this.#handle, ranges);
  }

  bringIn(ranges: readonly number[]): Promise<void> {
    return bringIn(this.#pages, ranges);
  }

  async askForLargePages(ranges: readonly number[]): Promise<void> {
    this.#requireOpen();
    await askForLargePages(this.#pages, ranges);
  }

  residentBytes(ranges: readonly number[]): number | undefined {
    this.#requireOpen();
    return residentBytes(this.#pages, ranges);
  }

  evict(ranges: readonly number[]): void {
    this.#requireOpen();
    evict(this.#pages, ranges);
  }

  /** Buffers that the user moves elsewhere leave the mapping as it is. */
  requireIntact(): void {}

  close(): void {
    this.#closed = true;
    // The mapping itself goes when the buffers' objects go; its pages need not wait for that, unless somebody else has
    // some of them, with what was written there.
    const isOurs = this.#buffers.detachAll();
    this.#binding.release(this.#handle, isOurs);
  }

  #requireOpen(): void {
    if (this.#closed) throw closedFault();
  }
}

function systemError(errno: number, byteLength: number): Error {
  const code = getSystemErrorName(-errno);
  const alive = liveMappings();
  const hint =
    alive < MOST_MAPPINGS
      ? ''
      : `: ${alive} files are mapped, the limit; close them, and let the event loop turn so that they are collected`;
  const message = `${code}: cannot map ${byteLength} bytes, mmap${hint}`;
  return Object.assign(new Error(message), { errno: -errno, code, syscall: 'mmap' });
}

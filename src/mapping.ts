// Owns a mapped file: one cached buffer for each segment, each keeping the mapping alive by itself.
// Refuses ranges across segments, and buffers longer than the runtime takes.

import { constants } from 'node:buffer';
import { getSystemErrorName } from 'node:util';

import { type MappingHandle, type NativeBinding, nativeBinding } from './binding.js';
import { type ConversionOptions, closedFault } from './conversion.js';
import type { Dtype, TensorData, TypedArrayConstructor } from './dtype.js';
import { SafeTensorsError } from './errors.js';
import { type FileRuns, overlapFault } from './gathering.js';
import { convertOnThreads } from './mapped-conversion.js';
import { askForLargePages, bringIn, evict, type MappedPages, residentBytes } from './mapped-pages.js';
import type { Origin } from './origin.js';
import type { SegmentPlan } from './segments.js';
import type { Protection, Source } from './source.js';

/** Longest external buffer: 4 GiB on Node 20. Later ones name no limit that they keep: some abort at 32 GiB. */
const MAX_BUFFER_LENGTH = Math.min(constants.MAX_LENGTH, 32 * 2 ** 30 - 8);

/** Most mappings of one process; half of what Linux allows in all, native code stops here. */
const MOST_MAPPINGS = 32768;

/** With more foreign memory than 64 MiB V8 begins a collection; a buffer of this length does not bring it there. */
const LEAD_LENGTH = 2 ** 25;

/** A buffer over part of a segment starts at a multiple of the widest element. */
const WIDEST = 8;

// Taken before anyone can replace it. Node 20 does not have it.
const transfer: ((this: ArrayBuffer, length: number) => ArrayBuffer) | undefined = Reflect.get(
  ArrayBuffer.prototype,
  'transfer',
);

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

interface Lead {
  readonly begin: number;
  readonly end: number;
  readonly buffer: ArrayBuffer;
}

export class MappedSource implements Source {
  readonly backend = 'mmap';
  readonly protection: Protection;
  readonly aliases = true;
  readonly maxLength = MAX_BUFFER_LENGTH;
  readonly #binding: NativeBinding;
  readonly #handle: MappingHandle;
  readonly #plan: SegmentPlan;
  readonly #pages: MappedPages;
  readonly #segments: (ArrayBuffer | undefined)[];
  /**
   * A buffer over the tensor that is used first, if it is short: a segment costs a collection, milliseconds and more, which
   * a program that wants one tensor would pay for the rest of the file.
   */
  #lead: Lead | undefined;
  /** Whether a tensor was used. */
  #begun = false;
  /** Buffers over parts of segments that are themselves too long for one. */
  #parts: WeakRef<ArrayBuffer>[] = [];
  #mostParts = 64;
  #lastSegment = 0;
  #closed = false;
  /** Whether a buffer is in other hands: moved away, or not to be taken away. */
  #shared = false;

  /** Maps a file of `byteLength` bytes; the descriptor may be closed afterwards. Throws the system's error. */
  constructor(descriptor: number, byteLength: number, protection: Protection, plan: SegmentPlan, origin: Origin) {
    this.#binding = nativeBinding();
    const handle = this.#binding.map(descriptor, byteLength, protection === 'read-only');
    if (typeof handle === 'number') throw systemError(handle, byteLength);
    this.#handle = handle;
    this.protection = this.#binding.isReadOnly(handle) ? 'read-only' : 'copy-on-write';
    this.#plan = plan;
    this.#pages = { binding: this.#binding, handle, origin, requireOpen: () => this.#requireOpen() };
    this.#segments = new Array(plan.begin.length);
  }

  bytes(begin: number, end: number): Uint8Array {
    return this.array(begin, end, Uint8Array) as Uint8Array;
  }

  array(begin: number, end: number, type: TypedArrayConstructor): TensorData {
    const k = this.#segmentOf(begin);
    const from = this.#plan.begin[k]!;
    const to = this.#plan.end[k]!;
    const length = (end - begin) / type.BYTES_PER_ELEMENT;
    if (to - from > MAX_BUFFER_LENGTH) return new type(this.#part(begin, end), (begin - from) % WIDEST, length);
    let buffer = this.#segments[k];
    // A length of 0: the user has moved the buffer elsewhere, which keeps its own share of the mapping.
    if (buffer === undefined || buffer.byteLength === 0) {
      if (buffer !== undefined) this.#shared = true;
      const lead = this.#leadFor(begin, end, from, to);
      if (lead !== undefined) return new type(lead.buffer, begin - lead.begin, length);
      buffer = this.#create(from, to);
      this.#segments[k] = buffer;
    }
    return new type(buffer, begin - from, length);
  }

  byteOffsetOf(begin: number): number {
    return begin - this.#plan.begin[this.#segmentOf(begin)]!;
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
    const parts = this.#parts.map((part) => part.deref());
    for (const buffer of [this.#lead?.buffer, ...this.#segments, ...parts])
      if (buffer !== undefined) this.#detach(buffer);
    // The mapping itself goes when the buffers' objects go; its pages need not wait for that, unless somebody else has
    // some of them, with what was written there.
    this.#binding.release(this.#handle, !this.#shared);
    this.#segments.fill(undefined);
    this.#lead = undefined;
    this.#parts = [];
  }

  /** The segment that holds a byte which belongs to some tensor: the last one to begin at or before it. */
  #segmentOf(begin: number): number {
    const { begin: begins, end: ends } = this.#plan;
    const last = this.#lastSegment;
    if (begin >= begins[last]! && begin < ends[last]!) return last;
    let low = 0;
    let high = begins.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (begins[middle]! <= begin) low = middle;
      else high = middle - 1;
    }
    this.#lastSegment = low;
    return low;
  }

  /** The short buffer over a range of the segment [from, to), if there is one, or there may be. */
  #leadFor(begin: number, end: number, from: number, to: number): Lead | undefined {
    if (!this.#begun && to - from > LEAD_LENGTH && end - begin <= LEAD_LENGTH - WIDEST) {
      const start = begin - ((begin - from) % WIDEST);
      this.#lead = { begin: start, end, buffer: this.#create(start, end) };
    }
    this.#begun = true;
    const lead = this.#lead;
    if (lead === undefined || begin < lead.begin || end > lead.end) return undefined;
    if (lead.buffer.byteLength > 0) return lead;
    this.#shared = true;
    return undefined;
  }

  /** A buffer that begins as far before a range as the range lies after a multiple of the widest element. */
  #part(begin: number, end: number): ArrayBuffer {
    const from = begin - ((begin - this.#plan.begin[this.#segmentOf(begin)]!) % WIDEST);
    // Looked through only when there are twice as many as were left the last time: each costs a constant in the mean.
    if (this.#parts.length >= this.#mostParts) {
      this.#parts = this.#parts.filter((part) => part.deref() !== undefined);
      this.#mostParts = Math.max(64, this.#parts.length * 2);
    }
    const buffer = this.#create(from, end);
    this.#parts.push(new WeakRef(buffer));
    return buffer;
  }

  #create(begin: number, end: number): ArrayBuffer {
    this.#requireOpen();
    // Asked first: on Node 20 a call that fails has already given the memory back.
    if (end - begin > MAX_BUFFER_LENGTH) {
      throw new SafeTensorsError(
        'BUFFER_TOO_LARGE',
        `${end - begin} bytes are more than one buffer of this runtime can hold (${MAX_BUFFER_LENGTH})`,
      );
    }
    const buffer = this.#binding.segment(this.#handle, begin, end - begin);
    if (typeof buffer === 'number') {
      throw new SafeTensorsError(
        'BUFFER_TOO_LARGE',
        `the runtime refused a buffer of ${end - begin} bytes (Node-API status ${buffer})`,
      );
    }
    mapped.set(buffer, this);
    return buffer;
  }

  /** Takes the memory away from every view on a buffer. */
  #detach(buffer: ArrayBuffer): void {
    if (buffer.byteLength === 0) {
      this.#shared = true;
      return;
    }
    try {
      if (transfer === undefined) this.#binding.detach(buffer);
      else transfer.call(buffer, 0);
    } catch {
      // Marked untransferable by the user: the buffer keeps its share, and the mapping lives until it goes.
    }
    if (buffer.byteLength > 0) this.#shared = true;
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

// Owns the buffers over a mapping: one for each segment, each keeping the mapping alive by itself, and how they are taken away.
// Refuses ranges across segments, and buffers longer than the runtime takes.

import { constants } from 'node:buffer';

import type { MappingHandle, NativeBinding } from './binding.js';
import type { TensorData, TypedArrayConstructor } from './dtype.js';
import { SafeTensorsError } from './errors.js';
import type { SegmentPlan } from './segments.js';

/** Longest external buffer: 4 GiB on Node 20. Later ones name no limit that they keep: some abort at 32 GiB. */
export const MAX_BUFFER_LENGTH = Math.min(constants.MAX_LENGTH, 32 * 2 ** 30 - 8);

/** With more foreign memory than 64 MiB V8 begins a collection; a buffer of this length does not bring it there. */
const LEAD_LENGTH = 2 ** 25;

/** A buffer over part of a segment starts at a multiple of the widest element. */
const WIDEST = 8;

// Taken before anyone can replace it. Node 20 does not have it.
const transfer: ((this: ArrayBuffer, length: number) => ArrayBuffer) | undefined = Reflect.get(
  ArrayBuffer.prototype,
  'transfer',
);

interface Lead {
  readonly begin: number;
  readonly end: number;
  readonly buffer: ArrayBuffer;
}

/** What the buffers are made of. */
export interface Mapped {
  readonly binding: NativeBinding;
  readonly handle: MappingHandle;
  readonly plan: SegmentPlan;
  /** Throws CLOSED once the mapping was given back. */
  requireOpen(): void;
  /** Hears of each buffer that is made. */
  onBuffer(buffer: ArrayBuffer): void;
}

export class MappedBuffers {
  readonly #mapped: Mapped;
  readonly #plan: SegmentPlan;
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
  /** Whether a buffer is in other hands: moved away, or not to be taken away. */
  #shared = false;

  constructor(mapped: Mapped) {
    this.#mapped = mapped;
    this.#plan = mapped.plan;
    this.#segments = new Array(mapped.plan.begin.length);
  }

  /** Elements over bytes [begin, end) of the file. Throws BUFFER_TOO_LARGE, CLOSED. */
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

  /** Takes the memory away from every view. Whether all of it could be: else somebody has some of it elsewhere. */
  detachAll(): boolean {
    const parts = this.#parts.map((part) => part.deref());
    for (const buffer of [this.#lead?.buffer, ...this.#segments, ...parts])
      if (buffer !== undefined) this.#detach(buffer);
    this.#segments.fill(undefined);
    this.#lead = undefined;
    this.#parts = [];
    return !this.#shared;
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
    const { binding, handle } = this.#mapped;
    this.#mapped.requireOpen();
    // Asked first: on Node 20 a call that fails has already given the memory back.
    if (end - begin > MAX_BUFFER_LENGTH) {
      throw new SafeTensorsError(
        'BUFFER_TOO_LARGE',
        `${end - begin} bytes are more than one buffer of this runtime can hold (${MAX_BUFFER_LENGTH})`,
      );
    }
    const buffer = binding.segment(handle, begin, end - begin);
    if (typeof buffer === 'number') {
      throw new SafeTensorsError(
        'BUFFER_TOO_LARGE',
        `the runtime refused a buffer of ${end - begin} bytes (Node-API status ${buffer})`,
      );
    }
    this.#mapped.onBuffer(buffer);
    return buffer;
  }

  /** Takes the memory away from every view on a buffer. */
  #detach(buffer: ArrayBuffer): void {
    if (buffer.byteLength === 0) {
      this.#shared = true;
      return;
    }
    try {
      if (transfer === undefined) this.#mapped.binding.detach(buffer);
      else transfer.call(buffer, 0);
    } catch {
      // Marked untransferable by the user: the buffer keeps its share, and the mapping lives until it goes.
    }
    if (buffer.byteLength > 0) this.#shared = true;
  }
}

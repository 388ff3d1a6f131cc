// Owns a file that is read piece by piece: every range is one exact read into memory of its own.
// Refuses to read a range twice while its bytes are in use.

import { constants } from 'node:buffer';

import { allocateBytes, allocateFloats } from './allocation.js';
import { optionalBinding } from './binding.js';
import { type ConversionOptions, closedFault, convertBytes, convertInTurns } from './conversion.js';
import { FileDescriptor } from './descriptor.js';
import { bitsOf, type Dtype, type TensorData, type TypedArrayConstructor } from './dtype.js';
import { type FileRuns, gatherWithin, overlapFault, overlaps, rowsOf, splitRuns } from './gathering.js';
import { HeldRanges } from './held-ranges.js';
import { readAhead } from './read-ahead.js';
import type { Protection, Source } from './source.js';

/** Runs are read together with what lies between them, so many bytes at a time, where each … */
const LARGEST_SPAN = 2 ** 20;
/** … is at most so many times its length from the next, … */
const WIDEST_GAP = 8;
/** … or so many bytes: the system reads a page for one byte of it, and a call costs as much as a few pages. */
const NEAR_BYTES = 4096;

/** Off the event loop, all that lies within so many bytes is read in one call. */
const LARGEST_ASYNC_SPAN = 2 ** 22;

/** Bytes read before they are converted, on this thread; whole elements of every dtype. */
const MOST_CONVERTED = 3 * 2 ** 21;

/** How many rows to read at once, each `step` bytes from the next and itself spread over `span`; 1: look inside it. */
function rowsTogether(step: number, rowBytes: number, span: number): number {
  const near = step <= Math.max(rowBytes * WIDEST_GAP, NEAR_BYTES);
  return near ? Math.max(1, 1 + Math.floor((LARGEST_SPAN - span) / step)) : 1;
}

export class ReadingSource implements Source {
  readonly backend = 'read';
  readonly protection: Protection | undefined = undefined;
  readonly aliases = false;
  readonly maxLength = constants.MAX_LENGTH;
  readonly #file: FileDescriptor;
  readonly #ranges = new HeldRanges();

  /** Takes the descriptor over. */
  constructor(descriptor: number) {
    this.#file = new FileDescriptor(descriptor);
  }

  bytes(begin: number, end: number): Uint8Array {
    return this.#ranges.find(begin, end) ?? this.#ranges.hold(begin, end, this.#read(begin, end));
  }

  array(begin: number, end: number, type: TypedArrayConstructor): TensorData {
    const { buffer, byteOffset } = this.bytes(begin, end);
    return new type(buffer as ArrayBuffer, byteOffset, (end - begin) / type.BYTES_PER_ELEMENT);
  }

  byteOffsetOf(): number {
    return 0;
  }

  gather(begin: number, runs: FileRuns, target: Uint8Array): void {
    const [count] = runs.counts;
    if (count === undefined) {
      const from = begin + runs.offset;
      const to = from + runs.runBytes;
      const held = this.#ranges.find(from, to);
      if (held === undefined) {
        this.#file.readSync(from, target.subarray(0, runs.runBytes));
      } else {
        if (overlaps(held, target)) throw overlapFault();
        target.set(held);
      }
      return;
    }
    const first = rowsOf(runs, 0, 1);
    const rows = rowsTogether(Math.abs(runs.strides[0]!), first.byteLength, first.maxByte - first.minByte);
    for (let row = 0; row < count; row += rows) {
      const piece = rowsOf(runs, row, Math.min(rows, count - row));
      const part = target.subarray(row * first.byteLength, row * first.byteLength + piece.byteLength);
      if (rows === 1) this.gather(begin, piece, part);
      else gatherWithin(this.#read(begin + piece.minByte, begin + piece.maxByte), piece, part);
    }
  }

  convert(begin: number, runs: FileRuns, dtype: Dtype, target: Float32Array): void {
    const held = this.#heldRun(begin, runs);
    if (held !== undefined) {
      convertBytes(dtype, held, target);
      return;
    }
    let at = 0;
    for (const piece of splitRuns(runs, MOST_CONVERTED)) {
      const packed = allocateBytes(piece.byteLength);
      this.gather(begin, piece, packed);
      const count = (piece.byteLength * 8) / bitsOf(dtype);
      convertBytes(dtype, packed, target.subarray(at, at + count));
      at += count;
    }
  }

  async convertAsync(
    begin: number,
    runs: FileRuns,
    dtype: Dtype,
    count: number,
    options: ConversionOptions,
  ): Promise<Float32Array> {
    const held = this.#heldRun(begin, runs);
    const target = options.target ?? allocateFloats(count);
    // Of the whole range, not of a piece: an early one must not be written over what a later one reads.
    if (held !== undefined && overlaps(held, new Uint8Array(target.buffer, target.byteOffset, target.byteLength)))
      throw overlapFault();
    await convertInTurns(dtype, runs, target, options.signal, LARGEST_ASYNC_SPAN, (piece) => {
      if (this.#file.isClosed) throw closedFault();
      // Of another length: whoever held it has transferred it.
      if (held?.byteLength !== runs.runBytes) return this.#readPiece(begin, piece);
      return held.subarray(piece.minByte - runs.minByte, piece.maxByte - runs.minByte);
    });
    return target;
  }

  /** The bytes of runs that lie near one another, packed; not to be written to. */
  async #readPiece(begin: number, piece: FileRuns): Promise<Uint8Array> {
    const [from, to] = [begin + piece.minByte, begin + piece.maxByte];
    const span = await this.#ranges.share(from, to, () => this.#file.read(from, to));
    if (piece.counts.length === 0) return span;
    const packed = allocateBytes(piece.byteLength);
    gatherWithin(span, piece, packed);
    return packed;
  }

  /** What is read through has the file already. */
  async reopen(): Promise<undefined> {}

  async fill(begin: number, target: Uint8Array): Promise<void> {
    await this.#file.read(begin, begin + target.byteLength, target);
  }

  populate(): undefined {}

  /** Into the page cache, for the reads that come. */
  async bringIn(ranges: readonly number[]): Promise<void> {
    if (this.#file.isClosed) throw closedFault();
    await this.#file.holding((descriptor) => readAhead(descriptor, ranges));
  }

  askForLargePages(): undefined {}

  residentBytes(ranges: readonly number[]): number | undefined {
    const cached = optionalBinding()?.cachedBytes(this.#file.number, ranges) ?? -1;
    return cached < 0 ? undefined : cached;
  }

  evict(ranges: readonly number[]): void {
    optionalBinding()?.dropCached(this.#file.number, ranges);
  }

  requireIntact(): void {}

  /** The bytes of a single run, if somebody holds them. */
  #heldRun(begin: number, runs: FileRuns): Uint8Array | undefined {
    return runs.counts.length === 0 ? this.#ranges.find(begin + runs.minByte, begin + runs.maxByte) : undefined;
  }

  #read(begin: number, end: number): Uint8Array<ArrayBuffer> {
    const bytes = allocateBytes(end - begin);
    this.#file.readSync(begin, bytes);
    return bytes;
  }

  close(): void {
    this.#file.close();
  }
}

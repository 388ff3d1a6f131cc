// Owns a file that is in memory already: ranges are views on the caller's bytes.
// Refuses bytes that the caller has transferred away or resized since.

import { allocateBytes, allocateFloats } from './allocation.js';
import { type ConversionOptions, closedFault, convertBytes, convertInTurns } from './conversion.js';
import type { Dtype, TensorData, TypedArrayConstructor } from './dtype.js';
import { SafeTensorsError } from './errors.js';
import { type FileRuns, gatherWithin, overlapFault, overlaps } from './gathering.js';
import { lengthOf, type Protection, type Source } from './source.js';

export class MemorySource implements Source {
  readonly backend = 'memory';
  readonly protection: Protection | undefined = undefined;
  readonly aliases = true;
  readonly maxLength = Number.MAX_SAFE_INTEGER;
  readonly #bytes: Uint8Array;
  readonly #byteLength: number;
  readonly #byteOffset: number;
  #closed = false;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#byteLength = bytes.byteLength;
    this.#byteOffset = bytes.byteOffset;
  }

  bytes(begin: number, end: number): Uint8Array {
    this.requireIntact();
    return new Uint8Array(this.#bytes.buffer, this.#byteOffset + begin, end - begin);
  }

  array(begin: number, end: number, type: TypedArrayConstructor): TensorData {
    this.requireIntact();
    return new type(
      this.#bytes.buffer as ArrayBuffer,
      this.#byteOffset + begin,
      (end - begin) / type.BYTES_PER_ELEMENT,
    );
  }

  async reopen(): Promise<undefined> {}

  populate(): undefined {}

  /** In memory it is; whether it is still the caller's to read is another question. */
  async bringIn(): Promise<void> {
    if (this.#closed) throw closedFault();
    this.requireIntact();
  }

  askForLargePages(): undefined {}

  residentBytes(ranges: readonly number[]): number {
    return lengthOf(ranges);
  }

  evict(): void {}

  requireIntact(): void {
    if (this.#bytes.byteLength !== this.#byteLength) {
      throw new SafeTensorsError(
        'CLOSED',
        `the ${this.#byteLength} bytes given to parse() were transferred away or resized (now ${this.#bytes.byteLength})`,
      );
    }
  }

  byteOffsetOf(begin: number): number {
    return this.#byteOffset + begin;
  }

  gather(begin: number, runs: FileRuns, target: Uint8Array): void {
    const source = this.bytes(begin + runs.minByte, begin + runs.maxByte);
    // Typed arrays copy overlapping runs one by one, so that a later run could read what an earlier one wrote.
    if (overlaps(source, target)) throw overlapFault();
    if (source.buffer instanceof SharedArrayBuffer && target.buffer instanceof SharedArrayBuffer) {
      // Two objects may stand for the same shared memory, and nothing tells: copied by way of memory of our own.
      const packed = allocateBytes(runs.byteLength);
      gatherWithin(source, runs, packed);
      target.set(packed);
      return;
    }
    gatherWithin(source, runs, target);
  }

  convert(begin: number, runs: FileRuns, dtype: Dtype, target: Float32Array): void {
    this.#refuseOverlap(begin, runs, target);
    convertBytes(dtype, this.#packed(begin, runs), target);
  }

  async convertAsync(
    begin: number,
    runs: FileRuns,
    dtype: Dtype,
    count: number,
    options: ConversionOptions,
  ): Promise<Float32Array> {
    if (options.target !== undefined) this.#refuseOverlap(begin, runs, options.target);
    const target = options.target ?? allocateFloats(count);
    await convertInTurns(dtype, runs, target, options.signal, Infinity, (piece) => {
      if (this.#closed) throw closedFault();
      return this.#packed(begin, piece);
    });
    return target;
  }

  fill(begin: number, target: Uint8Array): void {
    target.set(this.bytes(begin, begin + target.byteLength));
  }

  /** Of the whole range, not of a piece: an early one must not be written over what a later one reads. */
  #refuseOverlap(begin: number, runs: FileRuns, target: Float32Array): void {
    const written = new Uint8Array(target.buffer, target.byteOffset, target.byteLength);
    if (overlaps(this.bytes(begin + runs.minByte, begin + runs.maxByte), written)) throw overlapFault();
  }

  /** Runs as one range of bytes, copied only if they are several. */
  #packed(begin: number, runs: FileRuns): Uint8Array {
    if (runs.counts.length === 0) return this.bytes(begin + runs.minByte, begin + runs.maxByte);
    const packed = allocateBytes(runs.byteLength);
    this.gather(begin, runs, packed);
    return packed;
  }

  /** The memory is the caller's, so views stay as they are. */
  close(): void {
    this.#closed = true;
  }
}

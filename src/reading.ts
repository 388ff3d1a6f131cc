// Owns a file that is read piece by piece: every range is one exact read into memory of its own.
// Refuses a range that the file no longer has.

import { constants } from 'node:buffer';
import { closeSync, read, readSync } from 'node:fs';
import { promisify } from 'node:util';

import { type ConversionOptions, closedFault, convertBytes, convertInTurns } from './conversion.js';
import type { Dtype } from './dtype.js';
import { SafeTensorsError } from './errors.js';
import { type FileRuns, gatherBytes } from './gathering.js';
import type { Protection, Source } from './source.js';

/** One read call moves fewer than 2^31 bytes. */
const MOST_PER_CALL = 2 ** 30;

/** Runs are read together with what lies between them, so many bytes at a time, where each … */
const LARGEST_SPAN = 2 ** 20;
/** … is at most so many times its length from the next, … */
const WIDEST_GAP = 8;
/** … or so many bytes: the system reads a page for one byte of it, and a call costs as much as a few pages. */
const NEAR_BYTES = 4096;

// A file that is dropped without close() must not keep its descriptor.
const forgotten = new FinalizationRegistry<{ descriptor: number }>((held) => {
  if (held.descriptor >= 0) closeSync(held.descriptor);
});

const readAsync = promisify(read);

/** Reads [begin, end) of a file; throws TRUNCATED_DATA when it ends before. */
export function readRangeSync(descriptor: number, begin: number, end: number): Uint8Array {
  const target = new Uint8Array(end - begin);
  for (let done = 0; done < target.length; ) {
    const count = readSync(descriptor, target, done, Math.min(target.length - done, MOST_PER_CALL), begin + done);
    if (count === 0) throw shortened(begin, end, done);
    done += count;
  }
  return target;
}

/** The same off the event loop. */
export async function readRange(descriptor: number, begin: number, end: number): Promise<Uint8Array> {
  const target = new Uint8Array(end - begin);
  for (let done = 0; done < target.length; ) {
    const wanted = Math.min(target.length - done, MOST_PER_CALL);
    const { bytesRead } = await readAsync(descriptor, target, done, wanted, begin + done);
    if (bytesRead === 0) throw shortened(begin, end, done);
    done += bytesRead;
  }
  return target;
}

function shortened(begin: number, end: number, done: number): SafeTensorsError {
  return new SafeTensorsError(
    'TRUNCATED_DATA',
    `the file ends at byte ${begin + done}, inside the range [${begin}, ${end}): it has become shorter since it was opened`,
  );
}

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
  readonly #held: { descriptor: number };
  /** Reads under way off the event loop. */
  #reads = 0;
  #closed = false;

  /** Takes the descriptor over. */
  constructor(descriptor: number) {
    this.#held = { descriptor };
    forgotten.register(this, this.#held, this);
  }

  bytes(begin: number, end: number): Uint8Array {
    return readRangeSync(this.#held.descriptor, begin, end);
  }

  byteOffsetOf(): number {
    return 0;
  }

  gather(begin: number, runs: FileRuns, target: Uint8Array): void {
    const [count, ...counts] = runs.counts;
    if (count === undefined) {
      target.set(this.bytes(begin + runs.offset, begin + runs.offset + runs.runBytes));
      return;
    }
    const [stride = 0, ...strides] = runs.strides;
    const rowBytes = runs.byteLength / count;
    const reach = (count - 1) * stride;
    // The range of the first row alone.
    const low = runs.minByte - Math.min(reach, 0);
    const high = runs.maxByte - Math.max(reach, 0);
    const rows = rowsTogether(Math.abs(stride), rowBytes, high - low);
    for (let row = 0; row < count; row += rows) {
      const taken = Math.min(rows, count - row);
      const shift = row * stride;
      const span = (taken - 1) * stride;
      const piece = {
        runBytes: runs.runBytes,
        counts: rows === 1 ? counts : [taken, ...counts],
        strides: rows === 1 ? strides : [stride, ...strides],
        offset: runs.offset + shift,
        byteLength: taken * rowBytes,
        minByte: low + shift + Math.min(span, 0),
        maxByte: high + shift + Math.max(span, 0),
      };
      const part = target.subarray(row * rowBytes, (row + taken) * rowBytes);
      if (rows === 1) this.gather(begin, piece, part);
      else {
        const bytes = this.bytes(begin + piece.minByte, begin + piece.maxByte);
        gatherBytes(bytes, { ...piece, offset: piece.offset - piece.minByte }, part);
      }
    }
  }

  convert(begin: number, runs: FileRuns, dtype: Dtype, target: Float32Array): void {
    const packed = new Uint8Array(runs.byteLength);
    this.gather(begin, runs, packed);
    convertBytes(dtype, packed, target);
  }

  async convertAsync(
    begin: number,
    runs: FileRuns,
    dtype: Dtype,
    count: number,
    options: ConversionOptions,
  ): Promise<Float32Array> {
    const target = options.target ?? new Float32Array(count);
    await convertInTurns(dtype, runs, target, options.signal, async (piece) => {
      if (this.#closed) throw closedFault();
      if (piece.counts.length === 0) return this.#bytesAsync(begin + piece.minByte, begin + piece.maxByte);
      const packed = new Uint8Array(piece.byteLength);
      this.gather(begin, piece, packed);
      return packed;
    });
    return target;
  }

  async #bytesAsync(begin: number, end: number): Promise<Uint8Array> {
    this.#reads++;
    try {
      return await readRange(this.#held.descriptor, begin, end);
    } finally {
      this.#reads--;
      if (this.#closed) this.#release();
    }
  }

  close(): void {
    this.#closed = true;
    this.#release();
  }

  /** Closes the descriptor once no read needs it: its number may be another file's the moment after. */
  #release(): void {
    const { descriptor } = this.#held;
    if (descriptor < 0 || this.#reads > 0) return;
    this.#held.descriptor = -1;
    forgotten.unregister(this);
    closeSync(descriptor);
  }
}

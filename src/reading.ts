// Owns a file that is read piece by piece: every range is one exact read into memory of its own.
// Refuses a range that the file no longer has.

import { constants } from 'node:buffer';
import { closeSync, read, readSync } from 'node:fs';
import { promisify } from 'node:util';

import { type ConversionOptions, convertBytes, convertInTurns } from './conversion.js';
import type { Dtype } from './dtype.js';
import { SafeTensorsError } from './errors.js';
import { gatherBytes } from './gathering.js';
import type { FileRuns, Protection, Source } from './source.js';

/** One read call moves fewer than 2^31 bytes. */
const MOST_PER_CALL = 2 ** 30;

/** Runs are read together with what lies between them while that is at most so long, in bytes … */
const LARGEST_SPAN = 2 ** 20;
/** … and at most so many times what is wanted. */
const WIDEST_GAP = 8;

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

export class ReadingSource implements Source {
  readonly backend = 'read';
  readonly protection: Protection | undefined = undefined;
  readonly aliases = false;
  readonly maxLength = constants.MAX_LENGTH;
  readonly #held: { descriptor: number };

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
    this.#gather(begin, runs, target);
  }

  /** Reads what lies close together in one piece, else run by run. */
  #gather(begin: number, runs: FileRuns, target: Uint8Array): void {
    const span = runs.maxByte - runs.minByte;
    const [count, ...counts] = runs.counts;
    if (count === undefined) {
      target.set(this.bytes(begin + runs.offset, begin + runs.offset + runs.runBytes));
      return;
    }
    if (span <= LARGEST_SPAN && span <= runs.byteLength * WIDEST_GAP) {
      const piece = this.bytes(begin + runs.minByte, begin + runs.maxByte);
      gatherBytes(piece, { ...runs, offset: runs.offset - runs.minByte }, target);
      return;
    }
    const [stride = 0, ...strides] = runs.strides;
    const byteLength = runs.byteLength / count;
    const reach = (count - 1) * stride;
    for (let i = 0; i < count; i++) {
      const inner = {
        runBytes: runs.runBytes,
        counts,
        strides,
        byteLength,
        offset: runs.offset + i * stride,
        minByte: runs.minByte - Math.min(reach, 0) + i * stride,
        maxByte: runs.maxByte - Math.max(reach, 0) + i * stride,
      };
      this.#gather(begin, inner, target.subarray(i * byteLength, (i + 1) * byteLength));
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
      const { descriptor } = this.#held;
      if (descriptor < 0) throw new SafeTensorsError('CLOSED', 'the file was closed during the conversion');
      if (piece.counts.length === 0) return readRange(descriptor, begin + piece.minByte, begin + piece.maxByte);
      const packed = new Uint8Array(piece.byteLength);
      this.gather(begin, piece, packed);
      return packed;
    });
    return target;
  }

  close(): void {
    const { descriptor } = this.#held;
    if (descriptor < 0) return;
    this.#held.descriptor = -1;
    forgotten.unregister(this);
    closeSync(descriptor);
  }
}

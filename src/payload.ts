// Owns one tensor on its way into a file: from a caller's array, or streamed from another file, part by part.
// Refuses to write memory that was taken away meanwhile.

import type { Dtype } from './dtype.js';
import { quote, SafeTensorsError } from './errors.js';
import { type FileRuns, gatherWithin, splitRuns } from './gathering.js';
import type { Header } from './header.js';
import { mappedSourceOf } from './mapping.js';
import type { PieceWriter } from './piece-writer.js';
import type { Source } from './source.js';
import { memoryOf, type TensorMemory, type TensorView } from './tensor.js';

/**
 * From so many bytes on, a tensor of a mapped file is read from the file where nobody has written to it. The mapping gives the
 * same bytes for up to three times the processor time; to open the file again costs as much as a small tensor.
 */
const LEAST_READ = 2 ** 20;
/** Runs that are not contiguous are collected so many bytes … */
const STRIP_LENGTH = 2 ** 18;
/** … and so many runs at a time: each may lie on a page of its own. */
const STRIP_RUNS = 2048;
/** Where files are read, runs within so many bytes come with all that lies between them. */
const LARGEST_SPAN = 2 ** 20;
/** Where they are mapped, the pages of runs within so many bytes are fetched with all that lie between them. */
const NEAR_BYTES = 2 ** 16;

/** A tensor that is to be written. */
export interface Payload {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  readonly byteLength: number;
  /** Header, or source, of the open file that its bytes come from; undefined for memory of the caller's own. */
  readonly origin: Header | Source | undefined;
  /** Copies all bytes to the start of `target`. */
  copyTo(target: Uint8Array): void;
  /** Streams all bytes. Rejects with INVALID_TENSOR or CLOSED when the memory was taken away. */
  writeTo(writer: PieceWriter): Promise<void>;
}

/** A tensor in an array of the caller's. */
export class ArrayPayload implements Payload {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  readonly byteLength: number;
  readonly origin: Source | undefined;
  readonly #bytes: Uint8Array;

  /** `bytes` is a window of fixed length. */
  constructor(name: string, dtype: Dtype, shape: readonly number[], bytes: Uint8Array) {
    this.name = name;
    this.dtype = dtype;
    this.shape = shape;
    this.byteLength = bytes.byteLength;
    this.origin = mappedSourceOf(bytes.buffer);
    this.#bytes = bytes;
  }

  copyTo(target: Uint8Array): void {
    this.#requireIntact();
    target.set(this.#bytes);
  }

  async writeTo(writer: PieceWriter): Promise<void> {
    const verify = () => this.#requireIntact();
    await inPieces(writer, this.byteLength, (at, length) => {
      verify();
      writer.refer({ bytes: this.#bytes.subarray(at, at + length), verify });
    });
  }

  #requireIntact(): void {
    // The window has no length at all once its buffer ends before it.
    if (this.#bytes.byteLength === this.byteLength) return;
    throw new SafeTensorsError(
      'INVALID_TENSOR',
      `the ${this.byteLength} bytes of tensor ${quote(this.name)} were transferred away or resized while they were written`,
      { tensor: this.name },
    );
  }
}

/** A tensor of an open file, or a slice of one. */
export class ViewPayload implements Payload {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  readonly byteLength: number;
  readonly origin: Header;
  readonly #view: TensorView;

  /** `name` is that of the copy. Throws CLOSED. */
  constructor(name: string, view: TensorView) {
    const { file } = memoryOf(view);
    this.name = name;
    this.dtype = view.dtype;
    this.shape = view.shape;
    this.byteLength = view.byteLength;
    file.requireSource();
    this.origin = file.header;
    this.#view = view;
  }

  copyTo(target: Uint8Array): void {
    this.#view.copyTo(target);
  }

  async writeTo(writer: PieceWriter): Promise<void> {
    if (this.byteLength === 0) return;
    const memory = memoryOf(this.#view);
    if (memory.runs.counts.length > 0) await this.#writeRuns(writer, memory);
    else await this.#writeRange(writer, memory);
  }

  async #writeRange(writer: PieceWriter, memory: TensorMemory): Promise<void> {
    const first = memory.begin + memory.runs.offset;
    const verify = () => explained(memory, () => memory.file.requireSource().requireIntact());
    const source = memory.file.requireSource();
    const file = this.byteLength < LEAST_READ ? undefined : await source.reopen();
    try {
      await inPieces(writer, this.byteLength, async (at, length) => {
        const [begin, end] = [first + at, first + at + length];
        const step = <T>(use: (source: Source) => T) => explained(memory, () => use(memory.file.requireSource()));
        if (!source.aliases) {
          await step(() => source.fill(begin, writer.reserve(length)));
        } else if (file !== undefined && step(() => file.isUnwritten(begin, end))) {
          await step(() => file.read(begin, end, writer.reserve(length)));
        } else {
          writer.refer({ bytes: step(() => source.bytes(begin, end)), verify, source, begin });
        }
      });
    } finally {
      file?.close();
    }
  }

  /** Collects runs on this thread, a little at a time; what has to come from the disk comes on another. */
  async #writeRuns(writer: PieceWriter, memory: TensorMemory): Promise<void> {
    const { file, begin, runs } = memory;
    const strip = new Uint8Array(Math.min(STRIP_LENGTH, runs.byteLength));
    const most = Math.min(STRIP_LENGTH, runs.runBytes * STRIP_RUNS);
    const { aliases } = file.requireSource();
    for (const piece of splitRuns(runs, most, aliases ? Infinity : LARGEST_SPAN)) {
      const part = strip.subarray(0, piece.byteLength);
      const source = explained(memory, () => file.requireSource());
      if (aliases) await source.populate(rangesOf(begin, piece));
      await explained(memory, () => (aliases ? gather(memory, piece, part) : gatherRead(source, begin, piece, part)));
      await writer.copy(part);
      await writer.breathe();
    }
  }
}

function gather({ file, begin }: TensorMemory, runs: FileRuns, target: Uint8Array): void {
  file.requireSource().gather(begin, runs, target);
}

async function gatherRead(source: Source, begin: number, runs: FileRuns, target: Uint8Array): Promise<void> {
  const span = new Uint8Array(runs.maxByte - runs.minByte);
  await source.fill(begin + runs.minByte, span);
  gatherWithin(span, runs, target);
}

/** Where runs lie in the file, as ranges that leave out what is far from all of them. */
function rangesOf(begin: number, runs: FileRuns): number[] {
  const parts = [...splitRuns(runs, Infinity, NEAR_BYTES)];
  return parts.flatMap(({ minByte, maxByte }) => [begin + minByte, begin + maxByte]);
}

/** Runs a step on a tensor's memory; its errors get the tensor's name. Other tensors' errors are not to pass here. */
function explained<T>(memory: TensorMemory, step: () => T): T {
  try {
    const result = step();
    if (!(result instanceof Promise)) return result;
    return result.catch((cause: unknown) => {
      throw memory.named(cause);
    }) as T;
  } catch (cause) {
    throw memory.named(cause);
  }
}

/** Streams a contiguous tensor: calls what is given with as many bytes at a time as the writer has room for. */
async function inPieces(
  writer: PieceWriter,
  byteLength: number,
  take: (at: number, length: number) => void | Promise<void>,
): Promise<void> {
  for (let at = 0; at < byteLength; ) {
    if (writer.room === 0) await writer.flush();
    const length = Math.min(writer.room, byteLength - at);
    await take(at, length);
    at += length;
  }
  await writer.breathe();
}

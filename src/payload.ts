// Owns one tensor on its way into a file: from a caller's array, or streamed from another file, part by part.
// Refuses to write memory that was taken away meanwhile.

import type { Dtype } from './dtype.js';
import { quote, SafeTensorsError } from './errors.js';
import { splitRuns } from './gathering.js';
import { type Lent, type PieceWriter, SHORTEST_PART } from './piece-writer.js';
import { memoryOf, type TensorMemory, type TensorView } from './tensor.js';

/** Runs that are not contiguous are collected so many bytes … */
const STRIP_LENGTH = 2 ** 18;
/** … and so many runs at a time: each may lie on a page of its own. */
const STRIP_RUNS = 2048;

/** A tensor that is to be written. */
export interface Payload {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  readonly byteLength: number;
  /** Path of the open file that its bytes come from. */
  readonly path: string | undefined;
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
  readonly path = undefined;
  readonly #bytes: Uint8Array;

  /** `bytes` is a window of fixed length. */
  constructor(name: string, dtype: Dtype, shape: readonly number[], bytes: Uint8Array) {
    this.name = name;
    this.dtype = dtype;
    this.shape = shape;
    this.byteLength = bytes.byteLength;
    this.#bytes = bytes;
  }

  copyTo(target: Uint8Array): void {
    target.set(this.#bytes);
  }

  async writeTo(writer: PieceWriter): Promise<void> {
    const verify = () => this.#requireIntact();
    const refer = (begin: number, end: number): Lent => {
      verify();
      return { bytes: this.#bytes.subarray(begin, end), verify };
    };
    const fill = (begin: number, target: Uint8Array) => {
      verify();
      target.set(this.#bytes.subarray(begin, begin + target.byteLength));
    };
    await writeParts(writer, this.byteLength, fill, refer);
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
  readonly path: string | undefined;
  readonly #view: TensorView;

  /** `name` is that of the copy. Throws CLOSED. */
  constructor(name: string, view: TensorView) {
    const { file } = memoryOf(view);
    this.name = name;
    this.dtype = view.dtype;
    this.shape = view.shape;
    this.byteLength = view.byteLength;
    file.requireSource();
    this.path = file.path;
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
    const source = memory.file.requireSource();
    const first = memory.begin + memory.runs.offset;
    const verify = () => explained(memory, () => memory.file.requireSource().requireIntact());
    const refer = (from: number, to: number): Lent => ({
      bytes: explained(memory, () => memory.file.requireSource().bytes(first + from, first + to)),
      verify,
      source,
      begin: first + from,
    });
    const fill = (from: number, target: Uint8Array) =>
      explained(memory, () => memory.file.requireSource().fill(first + from, target));
    await writeParts(writer, this.byteLength, fill, source.aliases ? refer : undefined);
  }

  async #writeRuns(writer: PieceWriter, memory: TensorMemory): Promise<void> {
    const { file, begin, runs } = memory;
    const strip = new Uint8Array(Math.min(STRIP_LENGTH, runs.byteLength));
    const most = Math.min(STRIP_LENGTH, runs.runBytes * STRIP_RUNS);
    for (const piece of splitRuns(runs, most)) {
      const part = strip.subarray(0, piece.byteLength);
      explained(memory, () => file.requireSource().gather(begin, piece, part));
      await writer.copy(part);
      await writer.breathe();
    }
  }
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

/**
 * Streams a contiguous tensor: long parts by reference where there is memory that stays, others through the writer's own
 * memory.
 */
async function writeParts(
  writer: PieceWriter,
  byteLength: number,
  fill: (begin: number, target: Uint8Array) => void | Promise<void>,
  refer: ((begin: number, end: number) => Lent) | undefined,
): Promise<void> {
  for (let at = 0; at < byteLength; ) {
    if (writer.room === 0) await writer.flush();
    const length = Math.min(writer.room, byteLength - at);
    if (refer !== undefined && length >= SHORTEST_PART) writer.refer(refer(at, at + length));
    else await fill(at, writer.reserve(length));
    at += length;
  }
  await writer.breathe();
}

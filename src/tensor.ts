// Owns one tensor as the user holds it: what it is, and its elements as a typed array, over the file where that can be.
// Refuses to read anything before `bytes` or `data` is asked for.

import { inspect } from 'node:util';

import { arrayOf, bitsOf, type DataOf, type Dtype } from './dtype.js';
import { quote, SafeTensorsError } from './errors.js';
import type { Header } from './header.js';
import type { Source } from './source.js';

/** What `data` does for a tensor whose address is no multiple of its element size. */
export type Misaligned = 'copy' | 'view' | 'error';

/** What a tensor needs of the file that it belongs to. */
export interface TensorFile {
  readonly header: Header;
  readonly misaligned: Misaligned;
  readonly path: string | undefined;
  /** Where bytes come from; throws CLOSED. */
  requireSource(): Source;
  /** Whether `data` of a range that starts here would alias the file, were its elements this wide. */
  wouldAlias(begin: number, elementSize: number): boolean;
}

/** One tensor of a file. Made by `tensor`, `get` and `values`; holds its file open until both are dropped or closed. */
export class TensorView<D extends Dtype = Dtype> {
  /** Element type, as spelled in the file. */
  readonly dtype: D;
  readonly #file: TensorFile;
  readonly #position: number;
  #name: string | undefined;
  #shape: readonly number[] | undefined;
  /** Kept where asking again would read again. */
  #bytes: Uint8Array | undefined;
  #data: DataOf<D> | undefined;

  /** @internal */
  constructor(file: TensorFile, position: number) {
    this.#file = file;
    this.#position = position;
    this.dtype = file.header.dtypeAt(position) as D;
  }

  get name(): string {
    this.#name ??= this.#file.header.nameAt(this.#position);
    return this.#name;
  }

  /** Lengths of the dimensions, outermost first, in C order; `[]` for a scalar. Frozen. */
  get shape(): readonly number[] {
    this.#shape ??= Object.freeze(this.#file.header.shapeAt(this.#position));
    return this.#shape;
  }

  /** Number of elements. */
  get length(): number {
    return (this.byteLength * 8) / bitsOf(this.dtype);
  }

  /** Number of bytes in the file. */
  get byteLength(): number {
    return this.#end - this.#begin;
  }

  /** Where the tensor lies, in bytes from the end of the header, half open, as in the file. Frozen. */
  get dataOffsets(): readonly [begin: number, end: number] {
    return Object.freeze([this.#begin, this.#end] as const);
  }

  /**
   * The tensor's bytes over the file's own memory, never copied (with the `read` backend: read on first use).
   * Throws BUFFER_TOO_LARGE, CLOSED, and with `read` TRUNCATED_DATA.
   */
  get bytes(): Uint8Array {
    const source = this.#file.requireSource();
    if (this.byteLength === 0) return new Uint8Array(0);
    // A kept array of another length: the user has transferred its buffer.
    if (this.#bytes?.byteLength === this.byteLength) return this.#bytes;
    if (this.byteLength > source.maxLength) throw this.#tooLarge(source.maxLength);
    const offset = this.#file.header.dataOffset;
    const bytes = this.#explained(() => source.bytes(offset + this.#begin, offset + this.#end));
    if (!source.aliases) this.#bytes = bytes;
    return bytes;
  }

  /**
   * The elements as the dtype's typed array: a view over the file where `isView` says so, else a copy of this tensor
   * alone, made on first use. BF16, F16 and the F8 dtypes are bits, C64 is (re, im) pairs, F4 and F6 are packed.
   * Throws MISALIGNED when the file was opened with `misaligned: 'error'`, and whatever `bytes` throws.
   */
  get data(): DataOf<D> {
    const kept = this.#data;
    if (kept !== undefined && kept.byteLength === this.byteLength) {
      this.#file.requireSource();
      return kept;
    }
    const data = this.#typed();
    this.#data = data;
    return data;
  }

  /** Whether `data` aliases the file. An empty tensor has nothing to alias. */
  get isView(): boolean {
    return this.byteLength > 0 && this.#file.wouldAlias(this.#begin, arrayOf(this.dtype).BYTES_PER_ELEMENT);
  }

  get [Symbol.toStringTag](): string {
    return 'TensorView';
  }

  /** @internal */
  [inspect.custom](): string {
    return `TensorView ${quote(this.name)} ${this.dtype} [${this.shape.join(', ')}]`;
  }

  get #begin(): number {
    return this.#file.header.beginAt(this.#position);
  }

  get #end(): number {
    return this.#file.header.endAt(this.#position);
  }

  #typed(): DataOf<D> {
    const array = arrayOf(this.dtype);
    const elementSize = array.BYTES_PER_ELEMENT;
    let bytes = this.bytes;
    if (bytes.byteOffset % elementSize !== 0) {
      if (this.#file.misaligned === 'error') throw this.#misaligned(elementSize);
      bytes = new Uint8Array(bytes);
    }
    return new array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength / elementSize) as DataOf<D>;
  }

  /** Runs a read; its errors get the tensor's name. */
  #explained<T>(read: () => T): T {
    try {
      return read();
    } catch (cause) {
      if (!(cause instanceof SafeTensorsError)) throw cause;
      throw new SafeTensorsError(cause.code, `tensor ${quote(this.name)}: ${cause.message}`, {
        ...this.#details(),
        cause,
      });
    }
  }

  #tooLarge(limit: number): SafeTensorsError {
    return new SafeTensorsError(
      'BUFFER_TOO_LARGE',
      `tensor ${quote(this.name)} has ${this.byteLength} bytes; one buffer of this runtime holds ${limit} at most`,
      this.#details(),
    );
  }

  #misaligned(elementSize: number): SafeTensorsError {
    const begin = this.#file.header.dataOffset + this.#begin;
    return new SafeTensorsError(
      'MISALIGNED',
      `tensor ${quote(this.name)} begins at byte ${begin} of the file, which is no multiple of its element size ${elementSize}`,
      this.#details(),
    );
  }

  #details(): { path: string | undefined; tensor: string } {
    return { path: this.#file.path, tensor: this.name };
  }
}

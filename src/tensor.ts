// Owns one tensor, or a slice of one, as the user holds it: what it is, and its elements as a typed array, over the file
// where that can be. Refuses to read anything before `bytes`, `data`, a copy or a conversion is asked for.

import { constants } from 'node:buffer';
import { inspect, types } from 'node:util';

import { allocateBytes, allocateFloats } from './allocation.js';
import { type ConversionOptions, conversionOptions } from './conversion.js';
import { isConvertible } from './convert.js';
import { arrayOf, bitsOf, type DataOf, type Dtype } from './dtype.js';
import { quote, SafeTensorsError } from './errors.js';
import type { Header } from './header.js';
import { type ShardOptions, type SliceIndex, shardRegion, sliceRegion } from './indexing.js';
import { type NdarrayParts, ndarrayParts, type OrtParts, ortParts } from './interop.js';
import { elementCount, type GatherPlan, gatherPlan, type Region, wholeRegion } from './region.js';
import type { Source } from './source.js';

/** Longest buffer of this runtime, in bytes. */
const { MAX_LENGTH } = constants;

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

/** Where a tensor's bytes lie, for whoever writes them elsewhere. */
export interface TensorMemory {
  readonly file: TensorFile;
  /** Position of the whole tensor in its file. */
  readonly begin: number;
  /** The bytes, as runs within the tensor. */
  readonly runs: GatherPlan;
  /** An error of the source, with the tensor's name. */
  named(cause: unknown): unknown;
}

let exposeMemory: (view: TensorView) => TensorMemory;
let hasMemory: (value: object) => value is TensorView;

/** Whether a value is a TensorView, and not just of its class: without its fields it would have no memory. */
export function isTensorView(value: unknown): value is TensorView {
  return typeof value === 'object' && value !== null && hasMemory(value);
}

/** Where a view's bytes lie; not for users, who have `bytes`. */
export function memoryOf(view: TensorView): TensorMemory {
  return exposeMemory(view);
}

/**
 * One tensor of a file, or a slice of one. Made by `tensor`, `get`, `values` and `slice`; light, and made anew each time.
 * It holds its file open until both are dropped, or the file is closed.
 */
export class TensorView<D extends Dtype = Dtype> {
  /** Element type, as spelled in the file. */
  readonly dtype: D;
  readonly #file: TensorFile;
  readonly #position: number;
  /** The part of the tensor that this is; absent for all of it. */
  readonly #region: Region | undefined;
  /** How the region lies in the tensor's bytes; absent with it. */
  readonly #plan: GatherPlan | undefined;
  #name: string | undefined;
  #shape: readonly number[] | undefined;
  /** Kept where asking again would read again. */
  #bytes: Uint8Array | undefined;
  #data: DataOf<D> | undefined;

  static {
    hasMemory = (value): value is TensorView => #file in value;
    exposeMemory = (view) => ({
      file: view.#file,
      begin: view.#tensorBegin,
      runs: view.#runs,
      named: (cause) => view.#named(cause),
    });
  }

  private constructor(file: TensorFile, position: number, region?: Region, plan?: GatherPlan) {
    this.#file = file;
    this.#position = position;
    this.#region = region;
    this.#plan = plan;
    this.dtype = file.header.dtypeAt(position) as D;
  }

  /** @internal Tensor number `position` of a file, in order of offset. */
  static of(file: TensorFile, position: number): TensorView {
    return new TensorView(file, position);
  }

  /** The tensor's name; a slice has its tensor's. */
  get name(): string {
    this.#name ??= this.#file.header.nameAt(this.#position);
    return this.#name;
  }

  /** Lengths of the dimensions, outermost first, in C order; `[]` for a scalar. Frozen. */
  get shape(): readonly number[] {
    this.#shape ??= this.#region?.shape ?? Object.freeze(this.#file.header.shapeAt(this.#position));
    return this.#shape;
  }

  /** Whether the dtype is this one; narrows `data` for the compiler. */
  is<T extends Dtype>(dtype: T): this is TensorView<T> {
    return (this.dtype as Dtype) === dtype;
  }

  /** Number of elements. */
  get length(): number {
    if (this.#region !== undefined) return elementCount(this.#region);
    return (this.byteLength * 8) / bitsOf(this.dtype);
  }

  /** Number of bytes of the elements. */
  get byteLength(): number {
    return this.#plan?.byteLength ?? this.#fileEnd - this.#fileBegin;
  }

  /**
   * Where it lies, in bytes from the end of the header, half open, as in the file. Frozen. For a slice that is not
   * contiguous: the range from its first byte to its last.
   */
  get dataOffsets(): readonly [begin: number, end: number] {
    return Object.freeze([this.#begin, this.#end] as const);
  }

  /**
   * The bytes over the file's own memory, never copied. With the `read` backend they are read on first use; those of a
   * slice that is not contiguous are gathered on first use. Throws BUFFER_TOO_LARGE, CLOSED, and with `read`
   * TRUNCATED_DATA.
   */
  get bytes(): Uint8Array {
    const source = this.#file.requireSource();
    if (this.byteLength === 0) return new Uint8Array(0);
    // A kept array of another length: the user has transferred its buffer.
    if (this.#bytes?.byteLength === this.byteLength) return this.#bytes;
    if (this.byteLength > source.maxLength) throw this.#tooLarge(source.maxLength);
    const bytes = this.#explained(() => this.#read(source));
    if (!source.aliases || !this.#isContiguous) this.#bytes = bytes;
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
    const data = this.#typed(this.#file.requireSource());
    this.#data = data;
    return data;
  }

  /** Whether `data` aliases the file. Nothing aliases it for an empty tensor or a slice that is not contiguous. */
  get isView(): boolean {
    if (this.byteLength === 0 || !this.#isContiguous) return false;
    return this.#file.wouldAlias(this.#begin, arrayOf(this.dtype).BYTES_PER_ELEMENT);
  }

  /**
   * A part of the tensor, by numpy's rules; reads nothing. An index is an integer (drops the dimension; negative counts
   * from the end), `[start, stop, step]` (each may be null or left out; clamped; step may be negative), `null` for the
   * whole dimension, or `'...'` once for all dimensions between. Dimensions without an index stay whole.
   * Throws INVALID_SLICE, and SUB_BYTE_MISALIGNED for a cut inside a byte of F4 or F6.
   */
  slice(...indices: readonly SliceIndex[]): TensorView<D> {
    return this.#part(sliceRegion(this.#regionOrAll, indices, this.name));
  }

  /**
   * Part `rank` of `of` equal parts of dimension `dim`, as tensor parallelism takes them; reads nothing. With
   * `uneven: true` a dimension need not divide: the first parts are longer by one. Throws INVALID_SLICE.
   */
  shard(options: ShardOptions): TensorView<D> {
    return this.#part(shardRegion(this.#regionOrAll, options, this.name));
  }

  /**
   * Copies the elements' bytes, in C order, into memory that the caller owns, from byte `offset` of `target` on.
   * Returns the number of bytes. Throws INVALID_ARGUMENT when they do not fit or `target` overlaps them, and CLOSED.
   */
  copyTo(target: ArrayBufferView | ArrayBufferLike, offset = 0): number {
    const source = this.#file.requireSource();
    const room = bytesOf(target);
    const { byteLength } = this;
    if (!Number.isInteger(offset) || offset < 0 || offset + byteLength > room.byteLength) {
      throw new SafeTensorsError(
        'INVALID_ARGUMENT',
        `tensor ${quote(this.name)} has ${byteLength} bytes, which do not fit at byte ${String(offset)} of a target of ${room.byteLength}`,
        this.#details(),
      );
    }
    const part = room.subarray(offset, offset + byteLength);
    if (byteLength > 0) this.#explained(() => source.gather(this.#tensorBegin, this.#runs, part));
    return byteLength;
  }

  /**
   * The elements as float32: exact where float32 holds the value, else rounded to nearest, ties to even. BOOL becomes 0
   * or 1, F8_E8M0 a power of two; NaNs of F16, BF16 and F64 keep their payload, the others have none. `target`, at least `length` long, is filled
   * and its filled part returned: reusing one is what makes this fast.
   * Throws INVALID_ARGUMENT for C64 and for a target too short or over the same bytes, CLOSED, BUFFER_TOO_LARGE.
   */
  toFloat32Array(target?: Float32Array): Float32Array {
    const source = this.#file.requireSource();
    const floats = this.#floatTarget(target) ?? allocateFloats(this.length);
    if (floats.length > 0) {
      this.#explained(() => source.convert(this.#tensorBegin, this.#runs, this.dtype, floats));
    }
    return floats;
  }

  /**
   * The same off the event loop. An abort rejects with the signal's reason, and nothing runs on; `target` is then filled
   * in part. Rejects with CLOSED when the file is closed meanwhile.
   */
  async toFloat32(options: ConversionOptions = {}): Promise<Float32Array> {
    // Read before the file is asked for: a getter may close it.
    const { target: given, signal, threads } = conversionOptions(options);
    const source = this.#file.requireSource();
    signal?.throwIfAborted();
    const target = this.#floatTarget(given);
    if (this.length === 0) return target ?? new Float32Array(0);
    let floats: Float32Array;
    try {
      floats = await source.convertAsync(this.#tensorBegin, this.#runs, this.dtype, this.length, {
        target,
        signal,
        threads,
      });
    } catch (cause) {
      // The caller's own reason stays as it is, even one of this library's errors.
      throw signal?.aborted === true && cause === signal.reason ? cause : this.#named(cause);
    }
    this.#file.requireSource();
    return floats;
  }

  /**
   * The arguments of scijs' `ndarray(data, shape, stride, offset)`, without a copy where `data` of the whole tensor is a
   * view. Throws INVALID_ARGUMENT for C64, F4 and F6, which have no element per number.
   */
  toNdarray(): NdarrayParts<D> {
    const whole = this.#region === undefined ? this : new TensorView<D>(this.#file, this.#position);
    const fits = whole.byteLength <= this.#file.requireSource().maxLength;
    if (whole.isView && fits) return ndarrayParts(this.dtype, whole.data, this.#regionOrAll);
    return ndarrayParts(this.dtype, this.data, wholeRegion(this.shape));
  }

  /**
   * The arguments of onnxruntime's `new Tensor(type, data, dims)`, without a copy where `isView`.
   * Throws INVALID_ARGUMENT for a dtype that onnxruntime lacks.
   */
  toOrt(): OrtParts<D> {
    return ortParts(this.dtype, () => this.data, this.shape);
  }

  get [Symbol.toStringTag](): string {
    return 'TensorView';
  }

  /** @internal */
  [inspect.custom](): string {
    const more = this.shape.length > 16 ? `, … ${this.shape.length} dimensions` : '';
    return `TensorView ${quote(this.name)} ${this.dtype} [${this.shape.slice(0, 16).join(', ')}${more}]`;
  }

  /** Of the whole tensor, in bytes from the end of the header. */
  get #fileBegin(): number {
    return this.#file.header.beginAt(this.#position);
  }

  get #fileEnd(): number {
    return this.#file.header.endAt(this.#position);
  }

  /** Of the elements, in bytes from the end of the header. */
  get #begin(): number {
    return this.#fileBegin + (this.#plan?.minByte ?? 0);
  }

  get #end(): number {
    return this.#plan === undefined ? this.#fileEnd : this.#fileBegin + this.#plan.maxByte;
  }

  /** Of the whole tensor, in bytes of the file. */
  get #tensorBegin(): number {
    return this.#file.header.dataOffset + this.#fileBegin;
  }

  get #isContiguous(): boolean {
    return this.#plan === undefined || this.#plan.counts.length === 0;
  }

  get #regionOrAll(): Region {
    return this.#region ?? wholeRegion(this.shape);
  }

  /** The bytes as runs within the tensor. */
  get #runs(): GatherPlan {
    return this.#plan ?? gatherPlan(wholeRegion(this.shape), this.dtype, this.name);
  }

  /** The part of a caller's target that is to be filled. */
  #floatTarget(target: Float32Array | undefined): Float32Array | undefined {
    const { length } = this;
    if (!isConvertible(this.dtype)) throw this.#invalid(`of dtype ${this.dtype} has no conversion to float32`);
    if (target === undefined) {
      if (length * 4 > MAX_LENGTH) throw this.#tooLarge(MAX_LENGTH);
      return undefined;
    }
    if (!types.isFloat32Array(target)) throw this.#invalid('is converted into a Float32Array only');
    // Over its buffer, not by its own methods, which a subclass may have replaced.
    const room = Math.floor(bytesOf(target).byteLength / Float32Array.BYTES_PER_ELEMENT);
    if (room < length) throw this.#invalid(`has ${length} elements, the target ${room}`);
    return room === length ? target : new Float32Array(target.buffer, target.byteOffset, length);
  }

  #part(region: Region): TensorView<D> {
    return new TensorView<D>(this.#file, this.#position, region, gatherPlan(region, this.dtype, this.name));
  }

  #read(source: Source): Uint8Array {
    if (this.#plan !== undefined && !this.#isContiguous) {
      const bytes = allocateBytes(this.byteLength);
      source.gather(this.#tensorBegin, this.#plan, bytes);
      return bytes;
    }
    const offset = this.#file.header.dataOffset;
    return source.bytes(offset + this.#begin, offset + this.#end);
  }

  #typed(source: Source): DataOf<D> {
    const array = arrayOf(this.dtype);
    const elementSize = array.BYTES_PER_ELEMENT;
    if (this.#isContiguous) {
      // Not by way of `bytes`, and with each number asked for once: half of what a view costs.
      const begin = this.#begin;
      const length = this.byteLength;
      if (length > 0 && length <= source.maxLength && this.#file.wouldAlias(begin, elementSize)) {
        const from = this.#file.header.dataOffset + begin;
        try {
          return source.array(from, from + length, array) as DataOf<D>;
        } catch (cause) {
          throw this.#named(cause);
        }
      }
    }
    let bytes = this.bytes;
    if (bytes.byteOffset % elementSize !== 0) {
      if (this.#file.misaligned === 'error') throw this.#misaligned(elementSize);
      const copy = allocateBytes(bytes.byteLength);
      copy.set(bytes);
      bytes = copy;
    }
    return new array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength / elementSize) as DataOf<D>;
  }

  /** Runs a read; its errors get the tensor's name. */
  #explained<T>(read: () => T): T {
    try {
      return read();
    } catch (cause) {
      throw this.#named(cause);
    }
  }

  #named(cause: unknown): unknown {
    if (!(cause instanceof SafeTensorsError)) return cause;
    return new SafeTensorsError(cause.code, `tensor ${quote(this.name)}: ${cause.message}`, {
      ...this.#details(),
      cause,
    });
  }

  #invalid(what: string): SafeTensorsError {
    return new SafeTensorsError('INVALID_ARGUMENT', `tensor ${quote(this.name)} ${what}`, this.#details());
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

function bytesOf(target: ArrayBufferView | ArrayBufferLike): Uint8Array {
  if (target instanceof Uint8Array) return target;
  const isView = ArrayBuffer.isView(target);
  if (isView || types.isAnyArrayBuffer(target)) {
    const [buffer, offset] = isView ? [target.buffer, target.byteOffset] : [target, 0];
    // One that was transferred away has length 0, and no array can be made over it.
    return target.byteLength === 0 ? new Uint8Array(0) : new Uint8Array(buffer, offset, target.byteLength);
  }
  throw new SafeTensorsError('INVALID_ARGUMENT', 'the target of a copy is an ArrayBuffer, a typed array or a DataView');
}

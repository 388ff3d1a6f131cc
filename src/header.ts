// Owns the header as the library and its users see it: names, dtypes, shapes, offsets and metadata, in order of offset.
// Refuses what breaks the format, by the order of checks in docs/format.md. Never sees a file.

import type { TensorColumns } from './columns.js';
import { DTYPES, type Dtype } from './dtype.js';
import { SafeTensorsError } from './errors.js';
import { exactNumbers } from './exact.js';
import { checkLayout } from './layout.js';
import { METADATA_KEY } from './metadata.js';
import { NameIndex } from './names.js';
import { scanHeader } from './scanner.js';
import { planSegments, type SegmentPlan } from './segments.js';
import { notFound } from './suggestions.js';

/** Bytes before the header: its length, unsigned, little-endian. */
export const PREFIX_LENGTH = 8;

/** The format's own limit for the header, in bytes. */
export const MAX_HEADER_LENGTH = 100_000_000;

const RESIDENT_HEADER = new TextEncoder().encode(
  `{"${METADATA_KEY}":{"a":"b"},"t":{"dtype":"${DTYPES[0]}","shape":[${2 ** 32}],"data_offsets":[0,${2 ** 35}]}}`,
);

/** A tensor's entry, as it stands in the file. Offsets count bytes from the end of the header, half open. */
export interface TensorInfo {
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  readonly data_offsets: readonly [begin: number, end: number];
}

/** Everything that a file says of its tensors. Made by `readHeader`; also the `header` of an open file. */
export class Header {
  // Optimised code holds the hidden classes of what it works on weakly: without an instance that stays, a collection
  // between two files throws all of it away, and the next header is read by the interpreter. This one has large numbers
  // and metadata, so that it has the shape that all others come to.
  /** @internal */
  static readonly resident = new Header(RESIDENT_HEADER, PREFIX_LENGTH + RESIDENT_HEADER.length + 2 ** 35, undefined);

  /** The file, where there is one. */
  readonly path: string | undefined;
  /** Length of the file in bytes. */
  readonly byteLength: number;
  /** Length of the header in bytes, without the 8 bytes that give it. */
  readonly headerLength: number;
  /** `__metadata__`; empty when the file has none. */
  readonly metadata: ReadonlyMap<string, string>;
  readonly #columns: TensorColumns;
  readonly #names: NameIndex;

  /** @internal Keeps none of the bytes. */
  constructor(bytes: Uint8Array, byteLength: number, path: string | undefined) {
    const { columns, metadata } = scanHeader(bytes);
    columns.sort();
    columns.trim();
    const names = new NameIndex({ bytes: columns.names, begin: columns.nameBegin }, columns.hash, columns.count);
    checkLayout(columns, byteLength - PREFIX_LENGTH - bytes.length, {
      name: (position) => names.name(position),
      exact: (position) => exactNumbers(bytes, columns.huge.get(position)),
    });
    columns.settle();
    this.path = path;
    this.byteLength = byteLength;
    this.headerLength = bytes.length;
    this.metadata = metadata;
    this.#columns = columns;
    this.#names = names;
  }

  /** How many tensors there are. */
  get size(): number {
    return this.#columns.count;
  }

  /** Where the data starts in the file, in bytes. */
  get dataOffset(): number {
    return PREFIX_LENGTH + this.headerLength;
  }

  has(name: string): boolean {
    return this.positionOf(name) >= 0;
  }

  /** dtype, shape and data_offsets of one tensor, frozen. Throws TENSOR_NOT_FOUND. */
  info(name: string): TensorInfo {
    return this.infoAt(this.requirePosition(name));
  }

  /** Names in order of offset. */
  *keys(): Generator<string, undefined, unknown> {
    for (let i = 0; i < this.size; i++) yield this.nameAt(i);
  }

  /** Names and infos in order of offset. */
  *entries(): Generator<[string, TensorInfo], undefined, unknown> {
    for (let i = 0; i < this.size; i++) yield [this.nameAt(i), this.infoAt(i)];
  }

  [Symbol.iterator](): Generator<[string, TensorInfo], undefined, unknown> {
    return this.entries();
  }

  // By position, for the classes that hand out tensors: 0 is the first in order of offset.

  /** @internal Position of a name, or -1. */
  positionOf(name: string): number {
    return this.#names.find(name);
  }

  /** @internal Position of a name; throws TENSOR_NOT_FOUND, naming the closest names. */
  requirePosition(name: string): number {
    const position = this.positionOf(name);
    if (position < 0) throw notFound(name, this.keys(), this.size, this.path);
    return position;
  }

  /** @internal */
  nameAt(position: number): string {
    return this.#names.name(position);
  }

  /** @internal */
  dtypeAt(position: number): Dtype {
    return DTYPES[this.#columns.dtype[position]!]!;
  }

  /** @internal */
  shapeAt(position: number): number[] {
    return this.#columns.shapes.toArray(this.#columns.shape[position]!);
  }

  /** @internal Relative to the end of the header. */
  beginAt(position: number): number {
    return this.#columns.begin[position]!;
  }

  /** @internal Relative to the end of the header. */
  endAt(position: number): number {
    return this.#columns.endOf(position);
  }

  /** @internal */
  infoAt(position: number): TensorInfo {
    return Object.freeze({
      dtype: this.dtypeAt(position),
      shape: Object.freeze(this.shapeAt(position)),
      data_offsets: Object.freeze([this.beginAt(position), this.endAt(position)] as const),
    });
  }

  /** @internal */
  planSegments(shifted: boolean): SegmentPlan {
    return planSegments(this.#columns, this.dataOffset, shifted);
  }
}

/**
 * Reads the 8 bytes before the header. Returns the header's length; throws HEADER_TOO_SMALL, HEADER_TOO_LARGE or
 * INVALID_HEADER_LENGTH. `byteLength` is that of the file, `maxHeaderLength` the limit in bytes.
 */
export function headerLengthOf(prefix: Uint8Array, byteLength: number, maxHeaderLength: number): number {
  if (byteLength < PREFIX_LENGTH || prefix.length < PREFIX_LENGTH) {
    throw new SafeTensorsError(
      'HEADER_TOO_SMALL',
      `the file has ${byteLength} bytes, fewer than the ${PREFIX_LENGTH} that give the length of the header`,
    );
  }
  const length = new DataView(prefix.buffer, prefix.byteOffset, PREFIX_LENGTH).getBigUint64(0, true);
  if (length > BigInt(maxHeaderLength)) {
    throw new SafeTensorsError(
      'HEADER_TOO_LARGE',
      `the header claims ${length} bytes; the limit is ${maxHeaderLength}`,
    );
  }
  if (BigInt(PREFIX_LENGTH) + length > BigInt(byteLength)) {
    throw new SafeTensorsError(
      'INVALID_HEADER_LENGTH',
      `the header claims ${length} bytes, but only ${byteLength - PREFIX_LENGTH} follow its length`,
    );
  }
  return Number(length);
}

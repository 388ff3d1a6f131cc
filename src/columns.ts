// Owns the columns that a header is scanned into: one row a tensor, numbers side by side, no objects.
// Refuses nothing: the rules are in header.ts and layout.ts.

import { type ArrayClass, allocate, allocateBytes } from './allocation.js';
import { ShapeTable } from './shapes.js';

/** What most files fit into. */
const FIRST_ROWS = 64;
const FIRST_NAMES = 4096;

/** Enough to see what the other entries of a file will take. */
const SAMPLE_ROWS = 1024;
const SAMPLE_NAMES = 65_536;

/** Bytes that there is room for before a name is read. Longer names cost a second look. */
export const NAME_ROOM = 512;

/** What a guess may be too high by, as a part of what is needed, before a copy is the better bargain. */
const WASTE = 1 / 16;

/** A tensor's row is its position; after `sort` the positions are in order of offset. */
export class TensorColumns {
  count = 0;
  /** All names, unescaped UTF-8, one after the other in the order of rows. */
  names: Uint8Array;
  /** Where each name begins; one more than there are rows, because the next one's begin is its end. */
  nameBegin: Uint32Array;
  hash: Int32Array;
  dtype: Uint8Array;
  /** The shape's number in `shapes`. */
  shape: Uint32Array;
  readonly shapes = new ShapeTable();
  /** data_offsets, exact up to 2^53 - 1. */
  begin: Float64Array;
  end: Float64Array;
  /** Where in the header the entries stand that have a number beyond that, by row. */
  huge = new Map<number, number>();
  #dataEnd = 0;

  constructor(rows = FIRST_ROWS) {
    this.names = new Uint8Array(FIRST_NAMES);
    this.nameBegin = new Uint32Array(rows + 1);
    this.hash = new Int32Array(rows);
    this.dtype = new Uint8Array(rows);
    this.shape = new Uint32Array(rows);
    this.begin = new Float64Array(rows);
    this.end = new Float64Array(rows);
  }

  get capacity(): number {
    return this.begin.length;
  }

  // New memory is most of what a header costs where the system hands it out slowly. So the columns begin small, and once
  // there is a sample they grow to what the rest of the header will need if it is like its beginning.

  /** Makes room for more rows. `part` of the header, 0 to 1, has been read. */
  grow(part: number): void {
    const expected = Math.ceil(this.count / part);
    const sample = this.count < SAMPLE_ROWS ? Math.min(expected, SAMPLE_ROWS) : expected;
    this.#resize(Math.max(sample, Math.ceil(this.capacity * 1.5)));
  }

  /** Makes room for a name of `byteLength` after those that are there. Names become longer: their numbers count up. */
  growNames(part: number, byteLength: number): void {
    const used = this.nameBegin[this.count]!;
    const expected = Math.ceil((used / part) * (1 + WASTE));
    const sample = used < SAMPLE_NAMES / 2 ? Math.min(expected, SAMPLE_NAMES) : expected;
    const larger = allocateBytes(Math.max(sample, Math.ceil(this.names.length * 1.5)) + byteLength);
    larger.set(this.names.subarray(0, used));
    this.names = larger;
  }

  /** End of a tensor, in bytes from the end of the header. */
  endOf(row: number): number {
    if (this.end.length > 0) return this.end[row]!;
    return row + 1 < this.count ? this.begin[row + 1]! : this.#dataEnd;
  }

  /** Gives back what the guesses were much too high by. */
  trim(): void {
    if (isWasteful(this.capacity, this.count)) this.#resize(this.count);
    const used = this.nameBegin[this.count]!;
    this.names = isWasteful(this.names.length, used) ? resized(this.names, used) : this.names.subarray(0, used);
  }

  /** Gives back what only the checks needed: once they hold, a tensor ends where the next begins. */
  settle(): void {
    this.#dataEnd = this.count === 0 ? 0 : this.end[this.count - 1]!;
    this.end = new Float64Array(0);
    this.hash = new Int32Array(0);
  }

  /** Puts the rows in order of begin, then end, then place in the file. Most files are in order already. */
  sort(): void {
    const { begin, end, count } = this;
    let sorted = true;
    for (let i = 1; sorted && i < count; i++) {
      sorted = begin[i - 1]! < begin[i]! || (begin[i - 1] === begin[i] && end[i - 1]! <= end[i]!);
    }
    if (sorted) return;
    const order = new Uint32Array(count);
    for (let i = 0; i < count; i++) order[i] = i;
    order.sort((a, b) => begin[a]! - begin[b]! || end[a]! - end[b]! || a - b);
    this.#permuteNames(order);
    this.hash = permuted(this.hash, order);
    this.dtype = permuted(this.dtype, order);
    this.shape = permuted(this.shape, order);
    this.begin = permuted(begin, order);
    this.end = permuted(end, order);
    if (this.huge.size === 0) return;
    const { huge } = this;
    this.huge = new Map();
    order.forEach((row, i) => {
      const entry = huge.get(row);
      if (entry !== undefined) this.huge.set(i, entry);
    });
  }

  #permuteNames(order: Uint32Array): void {
    const { names, nameBegin } = this;
    const sortedNames = allocateBytes(nameBegin[order.length]!);
    const sortedBegin = new Uint32Array(order.length + 1);
    let next = 0;
    for (let i = 0; i < order.length; i++) {
      const row = order[i]!;
      const end = nameBegin[row + 1]!;
      // Names are short: a loop is faster than a call for each.
      for (let k = nameBegin[row]!; k < end; k++) sortedNames[next++] = names[k]!;
      sortedBegin[i + 1] = next;
    }
    this.names = sortedNames;
    this.nameBegin = sortedBegin;
  }

  #resize(rows: number): void {
    this.nameBegin = resized(this.nameBegin, rows + 1);
    this.hash = resized(this.hash, rows);
    this.dtype = resized(this.dtype, rows);
    this.shape = resized(this.shape, rows);
    this.begin = resized(this.begin, rows);
    this.end = resized(this.end, rows);
  }
}

function isWasteful(room: number, used: number): boolean {
  return room - used > used * WASTE;
}

type Column = Uint8Array | Int32Array | Uint32Array | Float64Array;

function resized<C extends Column>(column: C, length: number): C {
  const larger = allocate(column.constructor as unknown as ArrayClass<C>, length);
  larger.set(length < column.length ? column.subarray(0, length) : column);
  return larger;
}

function permuted<C extends Column>(column: C, order: Uint32Array): C {
  const result = allocate(column.constructor as unknown as ArrayClass<C>, order.length);
  for (let i = 0; i < order.length; i++) result[i] = column[order[i]!]!;
  return result;
}

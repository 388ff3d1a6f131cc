// Owns the columns that a header is scanned into: one row a tensor, numbers side by side, no objects.
// Refuses nothing: the rules are in header.ts and layout.ts.

const FIRST_ROWS = 64;

/** A tensor's row is its position; after `sort` the positions are in order of offset. */
export class TensorColumns {
  count = 0;
  /** Where the name lies in the header, unescaped: [nameBegin, nameEnd). */
  nameBegin: Uint32Array;
  nameEnd: Uint32Array;
  hash: Int32Array;
  dtype: Uint8Array;
  /** Where the shape lies in `dims`: [shapeBegin, shapeEnd). */
  shapeBegin: Uint32Array;
  shapeEnd: Uint32Array;
  /** data_offsets, exact up to 2^53 - 1. */
  begin: Float64Array;
  end: Float64Array;

  dims: Float64Array;
  dimCount = 0;

  /** `rows` is a guess. */
  constructor(rows: number) {
    const size = Math.max(rows, FIRST_ROWS);
    this.nameBegin = new Uint32Array(size);
    this.nameEnd = new Uint32Array(size);
    this.hash = new Int32Array(size);
    this.dtype = new Uint8Array(size);
    this.shapeBegin = new Uint32Array(size);
    this.shapeEnd = new Uint32Array(size);
    this.begin = new Float64Array(size);
    this.end = new Float64Array(size);
    this.dims = new Float64Array(size * 2);
  }

  get capacity(): number {
    return this.begin.length;
  }

  /** Doubles the rows. */
  grow(): void {
    this.#resize(this.capacity * 2);
  }

  growDims(): void {
    this.dims = resized(this.dims, this.dims.length * 2);
  }

  /** Gives back the rows that the guess was too high by. */
  trim(): void {
    if (this.capacity > this.count) this.#resize(this.count);
    if (this.dims.length > this.dimCount) this.dims = this.dims.slice(0, this.dimCount);
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
    this.nameBegin = permuted(this.nameBegin, order);
    this.nameEnd = permuted(this.nameEnd, order);
    this.hash = permuted(this.hash, order);
    this.dtype = permuted(this.dtype, order);
    this.shapeBegin = permuted(this.shapeBegin, order);
    this.shapeEnd = permuted(this.shapeEnd, order);
    this.begin = permuted(begin, order);
    this.end = permuted(end, order);
  }

  #resize(rows: number): void {
    this.nameBegin = resized(this.nameBegin, rows);
    this.nameEnd = resized(this.nameEnd, rows);
    this.hash = resized(this.hash, rows);
    this.dtype = resized(this.dtype, rows);
    this.shapeBegin = resized(this.shapeBegin, rows);
    this.shapeEnd = resized(this.shapeEnd, rows);
    this.begin = resized(this.begin, rows);
    this.end = resized(this.end, rows);
  }
}

type Column = Uint8Array | Int32Array | Uint32Array | Float64Array;

function resized<C extends Column>(column: C, length: number): C {
  const larger = new (column.constructor as new (length: number) => C)(length);
  larger.set(length < column.length ? column.subarray(0, length) : column);
  return larger;
}

function permuted<C extends Column>(column: C, order: Uint32Array): C {
  const result = new (column.constructor as new (length: number) => C)(order.length);
  for (let i = 0; i < order.length; i++) result[i] = column[order[i]!]!;
  return result;
}

// Owns the rules by which indices and shards pick a part of a region: numpy's, to the letter.
// Pure: it never sees a file or a pointer, and leaves where the bytes lie to region.ts.
import { quote, SafeTensorsError } from './errors.js';
import { makeRegion, type Region } from './region.js';

/**
 * What picks from one dimension: an integer (drops the dimension; negative counts from the end),
 * `[start, stop, step]` (each may be null or left out; bounds are clamped; step may be negative), null for the
 * whole dimension, or `'...'`, once, for as many whole dimensions as are left.
 */
export type SliceIndex =
  | number
  | null
  | '...'
  | readonly [start?: number | null, stop?: number | null, step?: number | null];

/** Which part of which dimension. */
export interface ShardOptions {
  /** The dimension to divide; negative counts from the end. */
  readonly dim: number;
  /** Which part, from 0 to `of` - 1. */
  readonly rank: number;
  /** Into how many parts. */
  readonly of: number;
  /** Whether the first parts may hold one more than the last, as numpy's array_split does. Default false. */
  readonly uneven?: boolean | undefined;
}

/** `count` positions of one dimension: start, start + step, … */
interface Positions {
  readonly start: number;
  readonly step: number;
  readonly count: number;
}

/**
 * The part of `region` that `indices` pick; trailing dimensions without an index stay whole.
 * @param tensor name for the message of an error
 * @throws INVALID_SLICE for an integer out of range, too many indices, a second '...', a step of 0 and what is no index
 */
export function sliceRegion(region: Region, indices: readonly SliceIndex[], tensor?: string): Region {
  const rank = region.shape.length;
  const ellipsis = indices.indexOf('...');
  const before = ellipsis < 0 ? indices.length : ellipsis;
  const after = ellipsis < 0 ? 0 : indices.length - ellipsis - 1;
  if (ellipsis >= 0 && indices.indexOf('...', ellipsis + 1) >= 0) {
    throw invalid("'...' may stand only once among the indices", tensor);
  }
  if (before + after > rank) {
    throw invalid(`too many indices: ${before + after}, and the number of dimensions is ${rank}`, tensor);
  }

  const shape: number[] = [];
  const strides: number[] = [];
  let offset = region.offset;
  for (let dim = 0; dim < rank; dim++) {
    const size = region.shape[dim]!;
    const stride = region.strides[dim]!;
    let index: unknown = null;
    if (dim < before) index = indices[dim];
    else if (dim >= rank - after) index = indices[indices.length - (rank - dim)];

    if (typeof index === 'number') {
      offset += position(index, dim, size, tensor) * stride;
      continue;
    }
    const { start, step, count } = positions(index, dim, size, tensor);
    offset += start * stride;
    shape.push(count);
    // With fewer than two elements the stride means nothing, and a huge step would make it inexact.
    strides.push(count > 1 ? stride * step : stride);
  }
  return makeRegion(shape, strides, offset, region.base);
}

/**
 * Part `rank` of `of` parts of one dimension, in order and without overlap.
 * @param tensor name for the message of an error
 * @throws INVALID_SLICE for a dim, rank or of out of range, and when the dimension does not divide and `uneven` is not set
 */
export function shardRegion(region: Region, options: ShardOptions, tensor?: string): Region {
  if (typeof options !== 'object' || options === null) throw invalid('a shard is given as { dim, rank, of }', tensor);
  const { rank, of } = options;
  const dims = region.shape.length;
  if (!Number.isInteger(options.dim) || options.dim < -dims || options.dim >= dims) {
    const range = dims === 0 ? 'there are no dimensions' : `the limits are ${-dims} and ${dims - 1}`;
    throw invalid(`dim ${show(options.dim)} is not a dimension: ${range}`, tensor);
  }
  const dim = options.dim < 0 ? options.dim + dims : options.dim;
  const size = region.shape[dim]!;
  if (!Number.isSafeInteger(of) || of < 1) {
    throw invalid(`${place(dim, size)}: of must be an integer of at least 1, not ${show(of)}`, tensor);
  }
  if (!Number.isInteger(rank) || rank < 0 || rank >= of) {
    throw invalid(`${place(dim, size)}: rank must be an integer from 0 to ${of - 1}, not ${show(rank)}`, tensor);
  }
  const extra = size % of;
  if (extra !== 0 && options.uneven !== true) {
    throw invalid(`${place(dim, size)} does not divide into ${of} equal parts; uneven: true allows others`, tensor);
  }
  const share = (size - extra) / of;
  const start = rank * share + Math.min(rank, extra);
  const count = share + (rank < extra ? 1 : 0);
  const indices = new Array<SliceIndex>(dim).fill(null);
  return sliceRegion(region, [...indices, [start, start + count]], tensor);
}

/** The position that an integer index means. */
function position(index: number, dim: number, size: number, tensor: string | undefined): number {
  if (!Number.isInteger(index)) throw invalid(`${place(dim, size)}: index ${index} is not an integer`, tensor);
  if (index < -size || index >= size) {
    const range = size === 0 ? 'it has no elements' : `the limits are ${-size} and ${size - 1}`;
    throw invalid(`${place(dim, size)}: index ${index} is out of range: ${range}`, tensor);
  }
  return index < 0 ? index + size : index;
}

/** The positions that null or [start, stop, step] mean: those of Python's `slice.indices`. */
function positions(index: unknown, dim: number, size: number, tensor: string | undefined): Positions {
  if (index === null) return { start: 0, step: 1, count: size };
  if (!Array.isArray(index) || index.length > 3) {
    throw invalid(
      `${place(dim, size)}: ${show(index)} is no index; a number, null, '...' or [start, stop, step] is`,
      tensor,
    );
  }
  const part = (at: number, word: string): number | undefined => {
    const value: unknown = index[at];
    if (value === undefined || value === null) return undefined;
    if (typeof value === 'number' && Number.isInteger(value)) return value;
    throw invalid(`${place(dim, size)}: ${word} ${show(value)} is not an integer`, tensor);
  };
  const step = part(2, 'step') ?? 1;
  if (step === 0) throw invalid(`${place(dim, size)}: step must not be 0`, tensor);
  // A negative step walks down to the position before the first, which is -1 here and must not count from the end.
  const lowest = step < 0 ? -1 : 0;
  const highest = step < 0 ? size - 1 : size;
  const bound = (value: number | undefined, absent: number): number => {
    if (value === undefined) return absent;
    return Math.min(Math.max(value < 0 ? value + size : value, lowest), highest);
  };
  const start = bound(part(0, 'start'), step < 0 ? highest : lowest);
  const stop = bound(part(1, 'stop'), step < 0 ? lowest : highest);
  // Exact: a quotient of safe integers that is no integer never rounds to one.
  const count = Math.max(0, Math.ceil((stop - start) / step));
  return { start, step, count };
}

function place(dim: number, size: number): string {
  return `dimension ${dim} of size ${size}`;
}

/** A caller's value for a message; never calls into an object of theirs. */
function show(value: unknown): string {
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  return typeof value === 'function' || typeof value === 'symbol' ? `a ${typeof value}` : String(value);
}

function invalid(what: string, tensor: string | undefined): SafeTensorsError {
  const prefix = tensor === undefined ? '' : `tensor ${quote(tensor)}: `;
  return new SafeTensorsError('INVALID_SLICE', prefix + what, { tensor });
}

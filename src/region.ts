// Owns the strided region: which elements of a tensor a view stands for, and how they lie in its bytes.
// Pure arithmetic: it never sees a file or memory, and does not know what a slice looks like to the caller.
import { bitsOf, type Dtype } from './dtype.js';
import { quote, SafeTensorsError } from './errors.js';

/**
 * A box of a tensor's elements. Element [i, j, …] of the region is the tensor's element number
 * `offset + i * strides[0] + j * strides[1] + …`, in C order. Immutable.
 */
export interface Region {
  readonly shape: readonly number[];
  /** In elements; may be negative. Without meaning for a dimension of size 1. */
  readonly strides: readonly number[];
  /** In elements from the tensor's first. */
  readonly offset: number;
  /** Shape of the tensor itself; errors about bytes name its dimensions. */
  readonly base: readonly number[];
}

/**
 * How to collect a region: `product(counts)` runs of `runBytes` bytes each, outermost dimension first.
 * Run [i, j, …] starts at byte `offset + i * strides[0] + j * strides[1] + …` of the tensor.
 * A contiguous region has no counts: it is the one run at `offset`.
 */
export interface GatherPlan {
  /** Bytes of one run; the longest that the strides allow. */
  readonly runBytes: number;
  /** Runs along each dimension, all of them 2 or more. */
  readonly counts: readonly number[];
  /** Bytes from a run to the next along each dimension; may be negative. */
  readonly strides: readonly number[];
  /** Byte of the tensor at which the first run starts. */
  readonly offset: number;
  /** Bytes of the whole result. */
  readonly byteLength: number;
  /** Lowest byte of the tensor that is touched. */
  readonly minByte: number;
  /** One past the highest byte of the tensor that is touched. */
  readonly maxByte: number;
}

/** The region that is all of a tensor. */
export function wholeRegion(shape: readonly number[]): Region {
  const strides = new Array<number>(shape.length);
  let stride = 1;
  for (let dim = shape.length - 1; dim >= 0; dim--) {
    strides[dim] = stride;
    stride *= shape[dim]!;
  }
  return makeRegion([...shape], strides, 0, Object.freeze([...shape]));
}

/** Freezes the parts into a Region. An empty one loses its strides and offset, which lead nowhere. */
export function makeRegion(shape: number[], strides: number[], offset: number, base: readonly number[]): Region {
  // The other dimensions of an empty tensor have no bound, so products of them may exceed what a number holds.
  const empty = shape.includes(0);
  return Object.freeze({
    shape: Object.freeze(shape),
    strides: Object.freeze(empty ? strides.fill(0) : strides),
    offset: empty ? 0 : offset,
    base,
  });
}

/** Number of elements; 1 for a 0-d region. */
export function elementCount(region: Region): number {
  // Not a plain product: beside a 0 the other sizes have no bound, and Infinity * 0 is NaN.
  return region.shape.includes(0) ? 0 : region.shape.reduce((product, size) => product * size, 1);
}

/** Whether the elements follow each other in the tensor, first to last; always so for none and for one. */
export function isContiguous(region: Region): boolean {
  return mergeDimensions(region).every(({ stride }, level) => level === 0 && stride === 1);
}

/**
 * The fewest and longest runs of bytes that make up the region.
 * @throws SUB_BYTE_MISALIGNED when a run of a packed dtype starts or ends inside a byte; it names the tensor's dimension.
 */
export function gatherPlan(region: Region, dtype: Dtype, tensor?: string): GatherPlan {
  const bytes = bitsOf(dtype) / 8; // 0.5 and 0.75 for the packed dtypes: exact, so their misfits stay fractions
  if (region.shape.includes(0)) {
    return { runBytes: 0, counts: [], strides: [], offset: 0, byteLength: 0, minByte: 0, maxByte: 0 };
  }
  const levels = mergeDimensions(region);
  const run = levels.at(-1)?.stride === 1 ? levels.pop()! : undefined;
  const runLength = run?.count ?? 1;
  if (bytes < 1) requireWholeBytes(region, dtype, runLength, levels, tensor);

  const runBytes = runLength * bytes;
  const offset = region.offset * bytes;
  let byteLength = runBytes;
  let minByte = offset;
  let maxByte = offset + runBytes;
  for (const { count, stride } of levels) {
    byteLength *= count;
    const reach = (count - 1) * stride * bytes;
    if (reach < 0) minByte += reach;
    else maxByte += reach;
  }
  return {
    runBytes,
    counts: levels.map(({ count }) => count),
    strides: levels.map(({ stride }) => stride * bytes),
    offset,
    byteLength,
    minByte,
    maxByte,
  };
}

/** One loop of a walk over a region; several dimensions of it where one stride serves them all. */
interface Level {
  count: number;
  /** In elements. */
  readonly stride: number;
}

/** The region's dimensions, outermost first, in as few levels as its strides allow; those of size 1 vanish. */
function mergeDimensions(region: Region): Level[] {
  const levels: Level[] = []; // innermost first, while it grows
  if (region.shape.includes(0)) return levels;
  for (let dim = region.shape.length - 1; dim >= 0; dim--) {
    const count = region.shape[dim]!;
    const stride = region.strides[dim]!;
    const inner = levels.at(-1);
    if (count === 1) continue;
    if (inner !== undefined && stride === inner.stride * inner.count) inner.count *= count;
    else levels.push({ count, stride });
  }
  return levels.reverse();
}

/** Every run starts on a byte when the first does and all steps are whole bytes, and ends on one when its length is. */
function requireWholeBytes(
  region: Region,
  dtype: Dtype,
  runLength: number,
  levels: readonly Level[],
  tensor: string | undefined,
): void {
  const bits = bitsOf(dtype);
  const fits = (elements: number): boolean => Number.isInteger(elements * (bits / 8));
  const refuse = (dim: number, what: string): never => {
    const prefix = tensor === undefined ? '' : `tensor ${quote(tensor)}: `;
    const where = `dimension ${dim} of size ${region.base[dim]}`;
    const message = `${prefix}${where}: ${what} inside a byte (${dtype} has ${bits} bits an element)`;
    throw new SafeTensorsError('SUB_BYTE_MISALIGNED', message, { tensor });
  };

  const { base, offset } = region;
  if (!fits(offset)) refuse(dimensionOfOffset(base, offset, fits), `the slice starts at element ${offset},`);
  if (!fits(runLength)) refuse(dimensionOfStep(base, runLength), `runs of ${runLength} consecutive elements end`);
  for (const { stride } of levels) {
    if (!fits(stride)) refuse(dimensionOfStep(base, Math.abs(stride)), `steps of ${Math.abs(stride)} elements lead`);
  }
}

/** The innermost dimension along which the way to element `offset` is no whole number of bytes. */
function dimensionOfOffset(shape: readonly number[], offset: number, fits: (elements: number) => boolean): number {
  let rest = offset;
  let stride = 1;
  for (let dim = shape.length - 1; dim > 0; dim--) {
    const position = rest % shape[dim]!;
    if (!fits(position * stride)) return dim;
    rest = (rest - position) / shape[dim]!;
    stride *= shape[dim]!;
  }
  return 0;
}

/** The dimension that `elements` steps in C order lead along: all dimensions inside it are gone through completely. */
function dimensionOfStep(shape: readonly number[], elements: number): number {
  let rest = elements;
  let dim = shape.length - 1;
  for (; dim > 0 && rest % shape[dim]! === 0; dim--) rest /= shape[dim]!;
  return Math.max(dim, 0);
}

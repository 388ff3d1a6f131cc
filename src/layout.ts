// Owns where tensors lie: the rules of offsets and sizes, and the plan of segments that views are made on.
// Refuses gaps, overlaps, sizes that do not fit and a file that is longer or shorter than its tensors. Pure arithmetic.

import type { TensorColumns } from './columns.js';
import { DTYPE_BITS, DTYPES } from './dtype.js';
import { quote, SafeTensorsError } from './errors.js';

const MAX_SAFE = Number.MAX_SAFE_INTEGER;
const MAX_U64 = 2n ** 64n - 1n;

/** What layout needs of a header to name a tensor, or to read its numbers without rounding. */
export interface Described {
  name(position: number): string;
  /** Where a number does not fit a double; undefined where all do. */
  exact(position: number): { shape: bigint[]; end: bigint } | undefined;
}

/**
 * Checks that the tensors, in order of offset, cover the `dataLength` bytes after the header exactly, each with the size
 * of its shape and dtype. Throws INVALID_OFFSETS, SIZE_OVERFLOW, SUB_BYTE_MISALIGNED, SIZE_MISMATCH, TRUNCATED_DATA or
 * TRAILING_DATA.
 */
export function checkLayout(columns: TensorColumns, dataLength: number, described: Described): void {
  const { begin, end, dtype, shape, shapes } = columns;
  let previous = 0;
  for (let i = 0; i < columns.count; i++) {
    const from = begin[i]!;
    const to = end[i]!;
    if (from !== previous || to < from) throw offsetsFault(described.name(i), from, to, previous);
    let elements = 1;
    let largest = 0;
    const rank = shapes.rank(shape[i]!);
    for (let d = 0; d < rank; d++) {
      const dim = shapes.dim(shape[i]!, d);
      elements *= dim;
      // Of the dimensions and of the products on the way: a 0 at the end must not hide what overflowed before it.
      if (dim > largest) largest = dim;
      if (elements > largest) largest = elements;
    }
    const bits = elements * DTYPE_BITS[dtype[i]!]!;
    // A NaN is 0 times an overflow to infinity.
    if (!(bits <= MAX_SAFE && largest <= MAX_SAFE && to <= MAX_SAFE)) {
      checkHuge(columns, i, described, dataLength);
    } else if (bits % 8 !== 0) {
      throw subByteFault(columns, i, described, bits);
    } else if (bits / 8 !== to - from) {
      throw mismatch(columns, i, described, bits / 8);
    }
    previous = to;
  }
  if (previous > dataLength) throw truncated(previous, dataLength);
  if (previous < dataLength) {
    throw new SafeTensorsError(
      'TRAILING_DATA',
      `the tensors end at byte ${previous} of the data, but ${dataLength - previous} more bytes follow (${dataLength} in all)`,
    );
  }
}

/** The same rules for a tensor with a number beyond 2^53 - 1 somewhere, in 64-bit arithmetic; returns only if all hold. */
function checkHuge(columns: TensorColumns, i: number, described: Described, dataLength: number): void {
  const tensor = described.name(i);
  const exact = described.exact(i);
  const shape = exact?.shape ?? shapeOf(columns, i).map(BigInt);
  const end = exact?.end ?? BigInt(columns.end[i]!);
  let elements = 1n;
  let overflows = shape.some((dim) => dim > BigInt(MAX_SAFE)) && shape.includes(0n);
  for (const dim of shape) {
    elements *= dim;
    // Going on would be quadratic in the number of dimensions.
    if (elements > MAX_U64) {
      overflows = true;
      break;
    }
  }
  const bits = elements * BigInt(DTYPE_BITS[columns.dtype[i]!]!);
  if (bits > MAX_U64) overflows = true;
  if (overflows) {
    throw new SafeTensorsError(
      'SIZE_OVERFLOW',
      `tensor ${quote(tensor)} of dtype ${DTYPES[columns.dtype[i]!]} and shape ${shapeText(shape)} has a dimension or a size that no file can have`,
      { tensor },
    );
  }
  if (bits % 8n !== 0n) throw subByteFault(columns, i, described, bits);
  if (bits / 8n !== end - BigInt(columns.begin[i]!)) throw mismatch(columns, i, described, bits / 8n);
  if (end > BigInt(dataLength)) throw truncated(end, dataLength);
}

function offsetsFault(tensor: string, from: number, to: number, previous: number): SafeTensorsError {
  let what = `begins at byte ${from}, inside the tensor before it, which ends at ${previous}`;
  if (from > previous) what = `begins at byte ${from}, leaving a gap after byte ${previous}`;
  if (to < from) what = `ends at byte ${to}, before its begin at ${from}`;
  return new SafeTensorsError('INVALID_OFFSETS', `tensor ${quote(tensor)} ${what}`, { tensor });
}

function subByteFault(
  columns: TensorColumns,
  i: number,
  described: Described,
  bits: number | bigint,
): SafeTensorsError {
  const tensor = described.name(i);
  return new SafeTensorsError(
    'SUB_BYTE_MISALIGNED',
    `tensor ${quote(tensor)} of dtype ${DTYPES[columns.dtype[i]!]} and shape ${shapeText(shapeOf(columns, i))} takes ${bits} bits, not a whole number of bytes`,
    { tensor },
  );
}

function mismatch(columns: TensorColumns, i: number, described: Described, needed: number | bigint): SafeTensorsError {
  const tensor = described.name(i);
  return new SafeTensorsError(
    'SIZE_MISMATCH',
    `tensor ${quote(tensor)} of dtype ${DTYPES[columns.dtype[i]!]} and shape ${shapeText(shapeOf(columns, i))} takes ${needed} bytes, but data_offsets [${columns.begin[i]}, ${columns.end[i]}] hold ${columns.end[i]! - columns.begin[i]!}`,
    { tensor },
  );
}

function truncated(end: number | bigint, dataLength: number): SafeTensorsError {
  const missing = BigInt(end) - BigInt(dataLength);
  return new SafeTensorsError(
    'TRUNCATED_DATA',
    `the tensors end at byte ${end} of the data, but the file has ${dataLength}: ${missing} bytes are missing, as after an interrupted download`,
  );
}

function shapeText(shape: readonly (number | bigint)[]): string {
  if (shape.length <= 16) return `[${shape.join(', ')}]`;
  return `[${shape.slice(0, 16).join(', ')}, … ${shape.length} dimensions]`;
}

function shapeOf(columns: TensorColumns, i: number): number[] {
  return columns.shapes.toArray(columns.shape[i]!);
}

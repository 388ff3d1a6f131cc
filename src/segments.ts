// Owns the plan of segments: the runs of whole tensors that share one buffer, and where each run starts in the file.
// Refuses nothing; a plan exists for every layout that passed its checks. Pure arithmetic.

import type { TensorColumns } from './columns.js';
import { arrayOf, DTYPES } from './dtype.js';

/** Widest element of any array: a segment that starts at a multiple of it keeps every aligned tensor aligned. */
const WIDEST = 8;

/**
 * Longest run, in bytes; a longer tensor gets a segment of its own. Each new segment costs about one collection, so the
 * longer the better, but others keep byte offsets in 32 signed bits (docs/decisions/0004-segments.md).
 */
export const SEGMENT_LIMIT = 2 ** 31 - 8;

/** Segment k covers the bytes [begin[k], end[k]) of the file, in ascending order. */
export interface SegmentPlan {
  readonly begin: Float64Array;
  readonly end: Float64Array;
}

const ALIGNMENT = DTYPES.map((dtype) => arrayOf(dtype).BYTES_PER_ELEMENT);

/**
 * Plans segments over tensors in order of offset. `dataOffset` is where the data starts in the file.
 *
 * With `shifted` false, segments start at multiples of 8 bytes of the file, so that a view's byteOffset tells the
 * alignment of its address. With `shifted` true, a segment starts at the first tensor that does not suit the current
 * one: every tensor is then aligned within its segment, though not in memory. A file with an unpadded header needs one
 * segment for 2 GiB, the same as a padded one.
 */
export function planSegments(
  columns: TensorColumns,
  dataOffset: number,
  shifted: boolean,
  limit = SEGMENT_LIMIT,
): SegmentPlan {
  const begins: number[] = [];
  const ends: number[] = [];
  let begin = -1;
  let end = -1;
  for (let i = 0; i < columns.count; i++) {
    const from = dataOffset + columns.begin[i]!;
    const to = dataOffset + columns.endOf(i);
    if (from === to) continue;
    const suits = !shifted || (from - begin) % ALIGNMENT[columns.dtype[i]!]! === 0;
    if (begin >= 0 && suits && to - begin <= limit) {
      end = to;
      continue;
    }
    if (begin >= 0) {
      begins.push(begin);
      ends.push(end);
    }
    begin = shifted ? from : from - (from % WIDEST);
    end = to;
  }
  if (begin >= 0) {
    begins.push(begin);
    ends.push(end);
  }
  return { begin: Float64Array.from(begins), end: Float64Array.from(ends) };
}

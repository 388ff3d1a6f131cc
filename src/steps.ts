// Owns the cutting of ranges of a file into steps, and the arithmetic on lists of ranges. Pure.
// Refuses to know what a step does.

import { lengthOf } from './source.js';

/**
 * Bytes of one step, at multiples of which files are cut: a fast disk needs some 10 milliseconds for it, and waits a part of
 * one for the event loop to ask for the next.
 */
export const STEP_BYTES = 2 ** 25;

/** The same over a network: a step that has begun is not given up. */
export const NETWORK_STEP_BYTES = 2 ** 24;

/** A range shorter than the largest page cannot have one. */
const LARGE_PAGE = 2 ** 21;

/** Each range with advice of its own is a mapping of its own to the system, and those are counted. */
const MOST_ADVISED = 64;

/** Ranges of one file that lie between two multiples of a step's length. */
export interface Step<Part> {
  readonly part: Part;
  /** Where the step would begin if all of the file was asked for. */
  readonly position: number;
  readonly ranges: readonly number[];
  readonly byteLength: number;
}

/** The steps of one part, cut where the position in the file is a multiple of `length`. */
export function* stepsOf<Part extends { readonly ranges: readonly number[] }>(
  part: Part,
  length = STEP_BYTES,
): Generator<Step<Part>, undefined, unknown> {
  let ranges: number[] = [];
  let end = 0;
  const step = () => ({ part, position: end - length, ranges, byteLength: lengthOf(ranges) });
  for (let i = 0; i < part.ranges.length; i += 2) {
    for (let at = part.ranges[i]!; at < part.ranges[i + 1]!; ) {
      if (at >= end && ranges.length > 0) {
        yield step();
        ranges = [];
      }
      end = (Math.floor(at / length) + 1) * length;
      const to = Math.min(part.ranges[i + 1]!, end);
      ranges.push(at, to);
      at = to;
    }
  }
  if (ranges.length > 0) yield step();
}

/** The ranges that are long enough for the largest pages; where they are many, all between the first and the last. */
export function largeRanges(ranges: readonly number[]): number[] {
  const large: number[] = [];
  for (let i = 0; i < ranges.length; i += 2) {
    if (ranges[i + 1]! - ranges[i]! >= LARGE_PAGE) large.push(ranges[i]!, ranges[i + 1]!);
  }
  return large.length > 2 * MOST_ADVISED ? [large[0]!, large.at(-1)!] : large;
}

/** Whether every range of `inner` lies within one of `outer`; both ascend. */
export function covers(outer: readonly number[], inner: readonly number[]): boolean {
  let k = 0;
  for (let i = 0; i < inner.length; i += 2) {
    while (k < outer.length && outer[k + 1]! < inner[i + 1]!) k += 2;
    if (k >= outer.length || outer[k]! > inner[i]!) return false;
  }
  return true;
}

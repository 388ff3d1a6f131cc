// Owns the copy of strided runs of bytes in JavaScript: the twin of native/gather, for where the addon is missing.
// Bytes only: what the runs mean was decided before, and out-of-bounds plans are refused, not clipped.
import { SafeTensorsError } from './errors.js';

/** Runs of `runBytes` bytes; run [i, j, …] starts at byte `offset + i * strides[0] + j * strides[1] + …` of the source. */
export interface StridedRuns {
  readonly runBytes: number;
  /** Outermost dimension first; none for a single run. */
  readonly counts: readonly number[];
  /** In bytes; may be negative. */
  readonly strides: readonly number[];
  readonly offset: number;
}

/** Runs of bytes within a file, and the range that holds them all. */
export interface FileRuns extends StridedRuns {
  /** Bytes of all runs. */
  readonly byteLength: number;
  readonly minByte: number;
  readonly maxByte: number;
}

/** From this many bytes on, a run is copied faster as a block than in a loop. */
const BLOCK_BYTES = 128;

/**
 * Copies all runs, in C order, to the start of `target`. The two must not overlap.
 * @throws INVALID_ARGUMENT when `source` does not hold every run, or `target` is too short
 */
export function gatherBytes(source: Uint8Array, runs: StridedRuns, target: Uint8Array): void {
  if (runs.runBytes === 0 || runs.counts.includes(0)) return;
  requireBounds(source, runs, target);

  // In words of 4 or 2 bytes where all addresses allow: the loop below then makes fewer turns.
  const addresses = [runs.runBytes, runs.offset, source.byteOffset, target.byteOffset, ...runs.strides];
  const word = [4, 2].find((bytes) => addresses.every((address) => address % bytes === 0)) ?? 1;
  const from = inWords(source, word);
  const to = inWords(target, word);
  const run = runs.runBytes / word;
  const strides = runs.strides.map((stride) => stride / word);

  // The innermost dimension is a plain loop; the others turn like the wheels of an odometer.
  const innermost = runs.counts.length - 1;
  const innerCount = runs.counts[innermost] ?? 1;
  const innerStride = strides[innermost] ?? 0;
  const turns = new Array<number>(Math.max(innermost, 0)).fill(0);
  let start = runs.offset / word;
  let written = 0;
  for (;;) {
    if (runs.runBytes < BLOCK_BYTES) copyInLoop(from, start, innerStride, innerCount, run, to, written);
    else copyInBlocks(from, start, innerStride, innerCount, run, to, written);
    written += innerCount * run;

    let wheel = innermost - 1;
    for (; wheel >= 0; wheel--) {
      turns[wheel]! += 1;
      start += strides[wheel]!;
      if (turns[wheel]! < runs.counts[wheel]!) break;
      start -= turns[wheel]! * strides[wheel]!;
      turns[wheel] = 0;
    }
    if (wheel < 0) return;
  }
}

/** The same where `source` is the range [minByte, maxByte) that the runs lie in. */
export function gatherWithin(source: Uint8Array, runs: FileRuns, target: Uint8Array): void {
  gatherBytes(source, { ...runs, offset: runs.offset - runs.minByte }, target);
}

type Words = Uint8Array | Uint16Array | Uint32Array;

function inWords(bytes: Uint8Array, word: number): Words {
  if (word === 1) return bytes;
  const length = Math.floor(bytes.byteLength / word);
  if (word === 2) return new Uint16Array(bytes.buffer, bytes.byteOffset, length);
  return new Uint32Array(bytes.buffer, bytes.byteOffset, length);
}

function copyInLoop(
  from: Words,
  start: number,
  stride: number,
  count: number,
  run: number,
  to: Words,
  written: number,
): void {
  let out = written;
  if (run === 1) {
    for (let i = 0, at = start; i < count; i++, at += stride) to[out++] = from[at]!;
    return;
  }
  for (let i = 0, at = start; i < count; i++, at += stride) {
    for (let k = 0; k < run; k++) to[out++] = from[at + k]!;
  }
}

function copyInBlocks(
  from: Words,
  start: number,
  stride: number,
  count: number,
  run: number,
  to: Words,
  written: number,
): void {
  let out = written;
  for (let i = 0, at = start; i < count; i++, at += stride, out += run) to.set(from.subarray(at, at + run), out);
}

function requireBounds(source: Uint8Array, runs: StridedRuns, target: Uint8Array): void {
  let first = runs.offset;
  let end = runs.offset + runs.runBytes;
  let total = runs.runBytes;
  runs.counts.forEach((count, dim) => {
    const reach = (count - 1) * runs.strides[dim]!;
    if (reach < 0) first += reach;
    else end += reach;
    total *= count;
  });
  if (!(first >= 0 && end <= source.byteLength)) {
    throw new SafeTensorsError(
      'INVALID_ARGUMENT',
      `the runs reach from byte ${first} to ${end} of a source of ${source.byteLength} bytes`,
    );
  }
  if (!(total <= target.byteLength)) {
    throw new SafeTensorsError(
      'INVALID_ARGUMENT',
      `the runs have ${total} bytes, more than the ${target.byteLength} of the target`,
    );
  }
}

/** Whether two arrays share memory. */
export function overlaps(a: Uint8Array, b: Uint8Array): boolean {
  return (
    a.buffer === b.buffer && a.byteOffset < b.byteOffset + b.byteLength && b.byteOffset < a.byteOffset + a.byteLength
  );
}

/** The error of copying a range onto itself. */
export function overlapFault(): SafeTensorsError {
  return new SafeTensorsError('INVALID_ARGUMENT', 'the target overlaps the bytes that are to be copied');
}

/**
 * Cuts runs, in order, into pieces of at most `most` bytes that lie within `mostSpan` bytes, or are a single run.
 * `most` is a multiple of every run's unit.
 */
export function* splitRuns(runs: FileRuns, most: number, mostSpan = Infinity): Generator<FileRuns, undefined, unknown> {
  const [count] = runs.counts;
  const [stride = 0] = runs.strides;
  if (count === undefined) {
    for (let at = 0; at < runs.runBytes; at += most)
      yield singleRun(runs.offset + at, Math.min(most, runs.runBytes - at));
    return;
  }
  if (runs.byteLength <= most && runs.maxByte - runs.minByte <= mostSpan) {
    yield runs;
    return;
  }
  const first = rowsOf(runs, 0, 1);
  const within = Math.floor((mostSpan - (first.maxByte - first.minByte)) / Math.abs(stride)) + 1;
  const rows = Math.max(1, Math.min(Math.floor(most / first.byteLength), within));
  for (let row = 0; row < count; row += rows) {
    const piece = rowsOf(runs, row, Math.min(rows, count - row));
    if (piece.counts.length < runs.counts.length) yield* splitRuns(piece, most, mostSpan);
    else yield piece;
  }
}

/** Rows [row, row + taken) of the outermost dimension, of which there is one at least; a single row loses it. */
export function rowsOf(runs: FileRuns, row: number, taken: number): FileRuns {
  const [count = 1, ...counts] = runs.counts;
  const [stride = 0, ...strides] = runs.strides;
  const reach = (count - 1) * stride;
  const shift = row * stride;
  const span = (taken - 1) * stride;
  return {
    runBytes: runs.runBytes,
    counts: taken === 1 ? counts : [taken, ...counts],
    strides: taken === 1 ? strides : [stride, ...strides],
    offset: runs.offset + shift,
    byteLength: (runs.byteLength / count) * taken,
    // Of all rows, less what the others reach further, then of those taken.
    minByte: runs.minByte - Math.min(reach, 0) + shift + Math.min(span, 0),
    maxByte: runs.maxByte - Math.max(reach, 0) + shift + Math.max(span, 0),
  };
}

function singleRun(offset: number, runBytes: number): FileRuns {
  return {
    runBytes,
    counts: [],
    strides: [],
    offset,
    byteLength: runBytes,
    minByte: offset,
    maxByte: offset + runBytes,
  };
}

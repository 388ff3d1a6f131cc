// Owns the histogram of one tensor: how its values spread, in bins, and what they are on the whole.
// Refuses to read a large tensor whole: pieces evenly over it stand for the rest, and the answer says so.

import type { TensorView } from 'safetensors-mmap';
import { myTurn } from '../llama/turns.js';
import { evenly, piecesOf } from './pieces.js';

/** Values of a tensor, counted. Numbers are null where nothing finite was seen. */
export interface Histogram {
  /** Elements of the tensor. */
  readonly elements: number;
  /** Elements that were looked at. */
  readonly counted: number;
  /** Of those, the ones that are NaN, infinite, or of F64 and beyond what float32 holds; they are in no bin. */
  readonly notFinite: number;
  readonly min: number | null;
  readonly max: number | null;
  readonly mean: number | null;
  readonly deviation: number | null;
  /** Where the bins begin and end; the outermost also hold what lies beyond. */
  readonly from: number | null;
  readonly to: number | null;
  readonly bins: readonly number[];
}

/** Elements converted at a time: 256 KiB of floats, which stay in the cache, in a fraction of a millisecond. */
const PIECE = 65_536;

/** Pieces looked at: 4 Mi elements. */
const MOST_PIECES = 64;

/** Bins reach this many standard deviations from the mean, so that one stray value does not squeeze all others into one. */
const REACH = 6;

/**
 * Counts a tensor's values. Converts off the event loop, counts in turns on it. Rejects with the signal's reason, and with
 * what the library does: INVALID_ARGUMENT for C64, SUB_BYTE_MISALIGNED for some shapes of F4 and F6, CLOSED.
 */
export async function histogramOf(tensor: TensorView, bins: number, signal: AbortSignal): Promise<Histogram> {
  const target = new Float32Array(Math.min(PIECE, tensor.length));
  const pieces = piecesOf(tensor, PIECE);
  const chosen = evenly(pieces.count, MOST_PIECES);
  const forEachPiece = async (look: (values: Float32Array) => void) => {
    for (const index of chosen) {
      const values = await pieces.piece(index).toFloat32({ target, signal });
      await myTurn();
      look(values);
    }
  };

  const moments = new Moments();
  await forEachPiece((values) => moments.add(values));
  const { min, max, mean, deviation, finite, counted } = moments;
  const head = { elements: tensor.length, counted, notFinite: counted - finite };
  if (finite === 0)
    return { ...head, min: null, max: null, mean: null, deviation: null, from: null, to: null, bins: [] };

  const from = Math.max(min, mean - REACH * deviation);
  const to = Math.min(max, mean + REACH * deviation);
  const counts = new Array<number>(from < to ? bins : 1).fill(0);
  const last = counts.length - 1;
  const scale = from < to ? counts.length / (to - from) : 0;
  await forEachPiece((values) => {
    for (const value of values) {
      if (!Number.isFinite(value)) continue;
      const bin = Math.min(last, Math.max(0, Math.floor((value - from) * scale)));
      counts[bin]! += 1;
    }
  });
  return { ...head, min, max, mean, deviation, from, to, bins: counts };
}

/** Sums over values, by Welford's method: float32 reaches 1e38, whose square a double still holds. */
class Moments {
  counted = 0;
  finite = 0;
  min = Number.POSITIVE_INFINITY;
  max = Number.NEGATIVE_INFINITY;
  mean = 0;
  #squares = 0;

  get deviation(): number {
    return Math.sqrt(this.#squares / this.finite);
  }

  add(values: Float32Array): void {
    this.counted += values.length;
    for (const value of values) {
      if (!Number.isFinite(value)) continue;
      this.finite += 1;
      const distance = value - this.mean;
      this.mean += distance / this.finite;
      this.#squares += distance * (value - this.mean);
      if (value < this.min) this.min = value;
      if (value > this.max) this.max = value;
    }
  }
}

// Owns the measure of how late the event loop is, as a histogram that only grows: two readings tell of the time between.
// Refuses to keep samples.

import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';

/** Upper bounds of the buckets, in seconds. */
export const DELAY_BOUNDS: readonly number[] = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1];

/** Milliseconds between two looks. */
const RESOLUTION = 10;

/** Milliseconds after which the runtime's own histogram is added to the buckets. */
const FOLD_EVERY = 1000;

const NANOSECONDS = 1e9;

/** What was seen since the start. */
export interface DelayReading {
  /** For each bound, how many looks were at most so late. */
  readonly buckets: readonly number[];
  readonly count: number;
  /** Seconds. */
  readonly sum: number;
  /** Seconds; of the longest wait. */
  readonly max: number;
}

/** Watches the event loop of this thread. */
export class LoopDelay {
  readonly #recent: IntervalHistogram = monitorEventLoopDelay({ resolution: RESOLUTION });
  readonly #buckets = DELAY_BOUNDS.map(() => 0);
  readonly #timer: NodeJS.Timeout;
  #count = 0;
  #sum = 0;
  #max = 0;

  constructor() {
    this.#recent.enable();
    this.#timer = setInterval(() => this.#fold(), FOLD_EVERY).unref();
  }

  read(): DelayReading {
    this.#fold();
    return { buckets: [...this.#buckets], count: this.#count, sum: this.#sum, max: this.#max };
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#recent.disable();
  }

  #fold(): void {
    const recent = this.#recent;
    const { count } = recent;
    if (count > 0) {
      DELAY_BOUNDS.forEach((bound, index) => {
        this.#buckets[index]! += countAtMost(recent, count, bound);
      });
      this.#sum += Math.max(0, recent.mean / NANOSECONDS - RESOLUTION / 1000) * count;
      this.#max = Math.max(this.#max, recent.max / NANOSECONDS - RESOLUTION / 1000);
      this.#count += count;
    }
    recent.reset();
  }
}

/** The runtime tells quantiles, so the number below a bound is searched for. What it records includes the interval. */
function countAtMost(histogram: IntervalHistogram, count: number, bound: number): number {
  const limit = bound * NANOSECONDS + RESOLUTION * 1e6;
  let known = 0;
  let above = count + 1;
  while (above - known > 1) {
    const middle = Math.floor((known + above) / 2);
    if (histogram.percentile((middle / count) * 100) <= limit) known = middle;
    else above = middle;
  }
  return known;
}

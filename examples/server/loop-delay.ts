// Owns the measure of how late the event loop is, as a histogram that only grows: two readings tell of the time between.
// Refuses to reset: the runtime would miss the wait that is under way.

import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';

/** Upper bounds of the buckets, in seconds. */
export const DELAY_BOUNDS: readonly number[] = [0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5, 1];

/** Milliseconds between two looks. What the runtime records includes them. */
const RESOLUTION = 10;

const NANOSECONDS = 1e9;

/** What was seen since the start. */
export interface DelayReading {
  /** For each bound, how many looks were at most so late. */
  readonly buckets: readonly number[];
  readonly count: number;
  /** Seconds. */
  readonly sum: number;
}

/** Watches the event loop of this thread. */
export class LoopDelay {
  readonly #histogram: IntervalHistogram = monitorEventLoopDelay({ resolution: RESOLUTION });
  #sum = 0;

  constructor() {
    this.#histogram.enable();
  }

  read(): DelayReading {
    const { count, mean } = this.#histogram;
    if (count === 0) return { buckets: DELAY_BOUNDS.map(() => 0), count, sum: 0 };
    const buckets = DELAY_BOUNDS.map((bound) => countAtMost(this.#histogram, bound));
    // After a late look the next is early. A sum that shrank would look like a restart.
    this.#sum = Math.max(this.#sum, (mean / NANOSECONDS - RESOLUTION / 1000) * count);
    return { buckets, count, sum: this.#sum };
  }

  stop(): void {
    this.#histogram.disable();
  }
}

/** The runtime tells quantiles, so the number below a bound is searched for. */
function countAtMost(histogram: IntervalHistogram, bound: number): number {
  const { count } = histogram;
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

// Owns the order of a prefetch: steps of one or many files in lanes, progress, abort, and steps that two prefetches share.
// Refuses to know how a source brings a range in.

import { recentlyAvailableMemory } from './available-memory.js';
import { requireSignal, threadsOf } from './conversion.js';
import { quote, SafeTensorsError } from './errors.js';
import type { FileSystem } from './file-system.js';
import { poolSlot } from './pool.js';
import { lengthOf, type Source } from './source.js';
import { covers, largeRanges, NETWORK_STEP_BYTES, STEP_BYTES, type Step, stepsOf } from './steps.js';

/** How a prefetch runs. */
export interface PrefetchOptions {
  /** Rejects the promise with the signal's reason, at once; steps under way, of at most 32 MiB each, end by themselves. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Hears after each step how many bytes are in memory, of how many; the last call has both equal. Where it returns a promise,
   * that is waited for.
   */
  readonly onProgress?: ((done: number, total: number) => unknown) | undefined;
  /**
   * Most steps under way at once, 1 to 64. Default 2 for several files, 1 for one, 4
   * over a network; never all threads of Node's pool.
   */
  readonly threads?: number | undefined;
}

/** One file's share of a prefetch. */
export interface PrefetchPart {
  readonly path: string | undefined;
  readonly fileSystem: FileSystem | undefined;
  /** [begin, end), [begin, end) … of the file, in ascending order, none touching the next. */
  readonly ranges: readonly number[];
  /** The source, opened when its first step comes. Throws or rejects with CLOSED and what opening does. */
  open(): Source | Promise<Source>;
}

/**
 * Lanes on local disks, each at a file of its own while there are so many. The system keeps one state of its read-ahead for
 * each open file: two lanes at one file are no faster than one, and now and then have megabytes read in small pages.
 */
const DEFAULT_THREADS = 2;
/** A network answers late, and several requests at a time. */
const DEFAULT_NETWORK_THREADS = 4;

/** Of the available memory; with more, the system would throw out the first pages while it reads the last. */
const FILLABLE = 0.8;

interface StepUnderWay {
  readonly ranges: readonly number[];
  readonly end: Promise<void>;
}

/** Steps under way by source and position, so that another prefetch waits for them instead of reading the same. */
const underWay = new WeakMap<Source, Map<number, StepUnderWay>>();

/** The options, each read once. Throws INVALID_ARGUMENT. */
export function prefetchOptions(options: PrefetchOptions): PrefetchOptions {
  if (typeof options !== 'object' || options === null) throw invalid('the options of a prefetch are an object');
  const { signal, onProgress, threads } = options;
  requireSignal(signal);
  if (onProgress !== undefined && typeof onProgress !== 'function') throw invalid('onProgress is a function');
  threadsOf(threads);
  return { signal, onProgress, threads };
}

/**
 * Brings all parts into memory, in order. Rejects with the signal's reason, with what `onProgress` throws or rejects with, with CLOSED
 * when a file is closed meanwhile, TRUNCATED_DATA, and the system's errors; then no further step begins.
 */
export async function prefetchParts(parts: readonly PrefetchPart[], options: PrefetchOptions): Promise<void> {
  const { signal, onProgress } = options;
  signal?.throwIfAborted();
  const run = new Run(parts, options);
  if (run.total === 0) {
    await onProgress?.(0, 0);
    signal?.throwIfAborted();
  }
  const finished = run.finish(threadsOf(options.threads ?? defaultThreads(parts)));
  if (signal === undefined) return finished;
  let onAbort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => {
      run.stop();
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    await Promise.race([finished, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

function defaultThreads(parts: readonly PrefetchPart[]): number {
  const files = parts.filter(({ ranges }) => ranges.length > 0).length;
  const overNetwork = parts.some(({ fileSystem }) => fileSystem?.isNetwork);
  return overNetwork ? DEFAULT_NETWORK_THREADS : Math.min(DEFAULT_THREADS, Math.max(files, 1));
}

function stepBytes({ fileSystem }: PrefetchPart): number {
  return fileSystem?.isNetwork ? NETWORK_STEP_BYTES : STEP_BYTES;
}

/** A file that is not all asked for yet. */
interface Queue {
  readonly steps: Iterator<Step<PrefetchPart>>;
  /** How many lanes are at it. */
  lanes: number;
}

class Run {
  readonly total: number;
  /** In the order in which they are begun. */
  readonly #queues: Queue[];
  readonly #onProgress: PrefetchOptions['onProgress'];
  readonly #sources = new Map<PrefetchPart, Promise<Source>>();
  #wantsLargePages: Promise<boolean> | undefined;
  #done = 0;
  #stopped = false;

  constructor(parts: readonly PrefetchPart[], { onProgress }: PrefetchOptions) {
    this.total = parts.reduce((sum, { ranges }) => sum + lengthOf(ranges), 0);
    this.#queues = parts.map((part) => ({ steps: stepsOf(part, stepBytes(part)), lanes: 0 }));
    this.#onProgress = onProgress;
  }

  /** Runs lanes to the end of all steps. Rejects, with the first failure, once every lane has come to rest. */
  async finish(lanes: number): Promise<void> {
    const failures: unknown[] = [];
    const lane = () =>
      this.#lane().catch((error: unknown) => {
        this.stop();
        failures.push(error);
      });
    await Promise.all(Array.from({ length: lanes }, lane));
    if (failures.length > 0) throw failures[0];
  }

  /** Lets no further step begin, and no progress be reported. */
  stop(): void {
    this.#stopped = true;
  }

  /** Takes steps of one file to its end, then of another. */
  async #lane(): Promise<void> {
    let queue = this.#enter();
    while (queue !== undefined && !this.#stopped) {
      const { done, value: step } = queue.steps.next();
      if (done === true) {
        queue = this.#enter(queue);
        continue;
      }
      await this.#take(step).catch((cause: unknown) => {
        throw located(cause, step.part.path);
      });
      if (this.#stopped) return;
      this.#done += step.byteLength;
      await this.#onProgress?.(this.#done, this.total);
    }
  }

  /** The first of the files with the fewest lanes, once `left` has no more steps; undefined when no file has. */
  #enter(left?: Queue): Queue | undefined {
    const at = left === undefined ? -1 : this.#queues.indexOf(left);
    if (at >= 0) this.#queues.splice(at, 1);
    let best = this.#queues[0];
    for (const queue of this.#queues) {
      if (best!.lanes === 0) break;
      if (queue.lanes < best!.lanes) best = queue;
    }
    if (best !== undefined) best.lanes++;
    return best;
  }

  async #take({ part, position, ranges }: Step<PrefetchPart>): Promise<void> {
    let opening = this.#sources.get(part);
    if (opening === undefined) {
      opening = this.#open(part);
      this.#sources.set(part, opening);
    }
    const source = await opening;
    await takeStep(source, position, ranges, () => this.#stopped);
  }

  async #open(part: PrefetchPart): Promise<Source> {
    const source = await part.open();
    const large = largeRanges(part.ranges);
    if (large.length === 0) return source;
    this.#wantsLargePages ??= recentlyAvailableMemory().then((available) => this.total <= available * FILLABLE);
    if ((await this.#wantsLargePages) && !this.#stopped) await source.askForLargePages(large);
    return source;
  }
}

/** Brings a step in, or waits for another prefetch that is doing so. */
async function takeStep(
  source: Source,
  position: number,
  ranges: readonly number[],
  isStopped: () => boolean,
): Promise<void> {
  const release = await poolSlot();
  let end: Promise<void>;
  try {
    if (isStopped()) return;
    const steps = stepsUnderWay(source);
    const other = steps.get(position);
    if (other !== undefined && covers(other.ranges, ranges)) {
      end = other.end;
    } else {
      end = source.bringIn(ranges);
      const own = { ranges, end };
      steps.set(position, own);
      await end.finally(() => {
        if (steps.get(position) === own) steps.delete(position);
      });
    }
  } finally {
    release();
  }
  await end;
}

function stepsUnderWay(source: Source): Map<number, StepUnderWay> {
  let steps = underWay.get(source);
  if (steps === undefined) {
    steps = new Map();
    underWay.set(source, steps);
  }
  return steps;
}

/** An error with the path of the file that it is about. */
function located(cause: unknown, path: string | undefined): unknown {
  if (path === undefined || !(cause instanceof Error) || 'path' in cause) return cause;
  if (!(cause instanceof SafeTensorsError)) return Object.assign(cause, { path });
  const { code, message, isFormatError } = cause;
  return new SafeTensorsError(code, `${quote(path)}: ${message}`, { path, isFormatError, cause });
}

function invalid(message: string): SafeTensorsError {
  return new SafeTensorsError('INVALID_ARGUMENT', message);
}

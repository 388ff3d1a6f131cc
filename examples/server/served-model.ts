// Owns one model from the command line to its close: opening, bringing its weights into memory, what state that is in.
// Refuses to make a client wait: the model serves as soon as its files are open, whatever is in memory.

import type { SafeTensorsModel } from 'safetensors-mmap';
import { myTurn } from '../llama/turns.js';
import type { Load, LoadedModel } from './engine.js';
import { Problem } from './problems.js';
import { Residency } from './residency.js';

/**
 * opening: headers and tokenizer are being read. loading: it serves, and its weights are on their way into memory.
 * ready: it serves, and nothing is under way. failed: it could not be opened.
 */
export type ModelState = 'opening' | 'loading' | 'ready' | 'failed';

/** One is enough to keep most disks busy, and leaves the processor to those who are served meanwhile. */
const PREFETCH_THREADS = 1;

/** A model that can be asked for by its name. */
export class ServedModel {
  readonly name: string;
  readonly #directory: string;
  readonly #load: Load;
  readonly #report: (line: string) => void;
  readonly #closing = new AbortController();
  #loaded: LoadedModel | undefined;
  #residency: Residency | undefined;
  #state: ModelState = 'opening';
  #prefetch = { doneBytes: 0, totalBytes: 0 };
  #evicting: Promise<void> | undefined;

  constructor(name: string, directory: string, load: Load, report: (line: string) => void) {
    this.name = name;
    this.#directory = directory;
    this.#load = load;
    this.#report = report;
  }

  get state(): ModelState {
    return this.#state;
  }

  /** How far the last way into memory has come. */
  get prefetch(): { readonly doneBytes: number; readonly totalBytes: number } {
    return this.#prefetch;
  }

  /** Bytes of the process's address space that its files take; 0 where they are read instead. */
  get mappedBytes(): number {
    const weights = this.#loaded?.weights;
    return weights?.backend === 'mmap' ? weights.byteLength : 0;
  }

  /** Opens the files, then brings the weights into memory. Failures are the model's state; this never rejects. */
  async start(): Promise<void> {
    const began = performance.now();
    try {
      const loaded = await this.#load(this.#directory);
      if (this.#closing.signal.aborted) return loaded.close();
      this.#loaded = loaded;
      this.#residency = new Residency(loaded.weights);
    } catch (error) {
      this.#state = 'failed';
      this.#report(`model ${this.name}: ${String(error)}`);
      return;
    }
    this.#report(`model ${this.name}: open after ${Math.round(performance.now() - began)} ms, it serves`);
    await this.#bringIn(this.#loaded);
  }

  /** Begins to bring the weights into memory. Throws a Problem when that is already under way. */
  beginPrefetch(): void {
    const loaded = this.require();
    this.#requireAtRest();
    void this.#bringIn(loaded);
  }

  /**
   * Gives the memory of the weights back to the system, once for all who ask meanwhile. Rejects with a Problem while the
   * weights are on their way there.
   */
  async evict(): Promise<void> {
    const { weights } = this.require();
    this.#requireAtRest();
    this.#evicting ??= this.#giveBack(weights).finally(() => {
      this.#evicting = undefined;
    });
    await this.#evicting;
  }

  /** The open model. Throws a Problem while there is none. */
  require(): LoadedModel {
    if (this.#loaded !== undefined) return this.#loaded;
    if (this.#state === 'failed') {
      throw new Problem(503, 'MODEL_FAILED', `model "${this.name}" could not be opened; the server's log says why`);
    }
    throw new Problem(503, 'MODEL_OPENING', `model "${this.name}" is being opened`, { retryAfter: 1 });
  }

  /** What of it is in memory. Throws a Problem while it is not open. */
  requireResidency(): Residency {
    this.require();
    return this.#residency!;
  }

  /** Closes the files and ends what is under way. */
  close(): void {
    this.#closing.abort(new Error('the server is closing'));
    this.#loaded?.close();
  }

  #requireAtRest(): void {
    if (this.#state === 'loading') throw new Problem(409, 'ALREADY_LOADING', `model "${this.name}" is being loaded`);
  }

  async #giveBack(weights: SafeTensorsModel): Promise<void> {
    // All at once would hold up the event loop, 0.1 s for a GiB.
    for (const name of weights.keys()) {
      await myTurn();
      weights.evict(name);
    }
    // Pages that two tensors share are still there.
    weights.evict();
    this.#residency?.forget();
  }

  async #bringIn({ weights }: LoadedModel): Promise<void> {
    const began = performance.now();
    const { signal } = this.#closing;
    this.#state = 'loading';
    this.#prefetch = { doneBytes: 0, totalBytes: 0 };
    const onProgress = (doneBytes: number, totalBytes: number) => {
      this.#prefetch = { doneBytes, totalBytes };
    };
    try {
      await weights.prefetch(undefined, { signal, onProgress, threads: PREFETCH_THREADS });
      const mebibytes = Math.round(this.#prefetch.totalBytes / 2 ** 20);
      this.#report(`model ${this.name}: ${mebibytes} MiB in memory after ${Math.round(performance.now() - began)} ms`);
    } catch (error) {
      // It serves nonetheless: what is not in memory is read when it is touched.
      if (!signal.aborted) this.#report(`model ${this.name}: not brought into memory: ${String(error)}`);
    }
    this.#residency?.forget();
    this.#state = 'ready';
  }
}

// Owns the keys and values of the tokens seen so far, layer by layer. Refuses more tokens than the model has positions.

import type { LlamaConfig } from './config.js';
import { LlamaError } from './errors.js';

/** Positions that a layer's first tokens make room for; it doubles when they are full. */
const FIRST_ROOM = 64;

/** The memory of one text. Made by `LlamaModel.newState`; belongs to one text at a time. */
export class KvCache {
  /** Number of tokens seen. */
  length = 0;
  /** Whether a forward pass is under way. */
  busy = false;
  /** Most tokens that it takes. */
  readonly limit: number;
  /** Of the model that it belongs to. */
  readonly config: LlamaConfig;
  readonly #width: number;
  readonly #keys: Float32Array[];
  readonly #values: Float32Array[];

  constructor(config: LlamaConfig) {
    this.config = config;
    this.limit = config.positions;
    this.#width = config.keyHeads * config.headSize;
    const empty = () => Array.from({ length: config.layers }, () => new Float32Array(0));
    this.#keys = empty();
    this.#values = empty();
  }

  /** Bytes of the keys and values that room was made for. */
  get byteLength(): number {
    return this.#keys.reduce((sum, keys) => sum + 2 * keys.byteLength, 0);
  }

  /** Keys of a layer, `[position, head, element]`; valid until more are put there. */
  keys(layer: number): Float32Array {
    return this.#keys[layer]!;
  }

  /** Values of a layer, laid out like the keys. */
  values(layer: number): Float32Array {
    return this.#values[layer]!;
  }

  /** Throws CONTEXT_FULL where the model has no positions for more tokens. */
  requirePositions(more: number): void {
    if (this.length + more <= this.limit) return;
    const message = `${this.length} tokens and ${more} more do not fit: the model has ${this.limit} positions`;
    throw new LlamaError('CONTEXT_FULL', message);
  }

  /** Puts keys and values of tokens that come after those seen; they count once `length` says so. */
  put(layer: number, keys: Float32Array, values: Float32Array): void {
    this.#putInto(this.#keys, layer, keys);
    this.#putInto(this.#values, layer, values);
  }

  /** Room is made layer by layer: to copy a long text's cache at once would hold the event loop for a second. */
  #putInto(list: Float32Array[], layer: number, more: Float32Array): void {
    const old = list[layer]!;
    const at = this.length * this.#width;
    const needed = at + more.length;
    if (needed > old.length) {
      const room = Math.max(FIRST_ROOM * this.#width, 2 * old.length, needed);
      const larger = new Float32Array(Math.min(this.limit * this.#width, room));
      larger.set(old.subarray(0, at));
      list[layer] = larger;
    }
    list[layer]!.set(more, at);
  }
}

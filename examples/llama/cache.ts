// Owns the keys and values of the tokens seen so far, layer by layer. Refuses more tokens than the model has positions.

import type { LlamaConfig } from './config.js';
import { LlamaError } from './errors.js';

/** Positions that a new cache has room for; it doubles when they are full. */
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
  /** Positions that all layers have room for. */
  #room = 0;
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

  /** Keys of a layer, `[position, head, element]`; valid until room is made. */
  keys(layer: number): Float32Array {
    return this.#keys[layer]!;
  }

  /** Values of a layer, laid out like the keys. */
  values(layer: number): Float32Array {
    return this.#values[layer]!;
  }

  /** Makes room for more tokens. Throws CONTEXT_FULL where the model has no positions for them. */
  makeRoom(more: number): void {
    const needed = this.length + more;
    if (needed > this.limit) {
      const message = `${this.length} tokens and ${more} more do not fit: the model has ${this.limit} positions`;
      throw new LlamaError('CONTEXT_FULL', message);
    }
    if (needed <= this.#room) return;
    const room = Math.min(this.limit, Math.max(FIRST_ROOM, 2 * this.#room, needed));
    for (const list of [this.#keys, this.#values]) {
      list.forEach((old, layer) => {
        const larger = new Float32Array(room * this.#width);
        larger.set(old.subarray(0, this.length * this.#width));
        list[layer] = larger;
      });
    }
    this.#room = room; // only now: memory may have run out on the way
  }
}

// Owns a model as its user holds it, and the way of tokens through it: embedding, layers, logits.
// Refuses to choose tokens: that is generate.ts.

import type { SafeTensorsModel } from 'safetensors-mmap';
import { KvCache } from './cache.js';
import type { LlamaConfig } from './config.js';
import { LlamaError, shown } from './errors.js';
import { type Pass, runLayer } from './layer.js';
import { MOST_VECTORS, multiply } from './linear.js';
import { EMBEDDING, LAST_NORM } from './names.js';
import { normalize } from './norm.js';
import { frequencies } from './rope.js';
import type { TextTokenizer } from './tokenizer.js';
import { Weights } from './weights.js';

/** What `forward` takes besides the tokens. */
export interface ForwardOptions {
  /** Logits after the last token (the default), or after each. */
  readonly logits?: 'last' | 'all';
  readonly signal?: AbortSignal | undefined;
}

/** A Llama, Qwen 2 or Qwen 3 model over its files. Made by `loadModel`. */
export class LlamaModel {
  readonly config: LlamaConfig;
  /** The files' tensors; closed by `close`. */
  readonly weights: SafeTensorsModel;
  readonly tokenizer: TextTokenizer;
  readonly #tensors: Weights;
  readonly #angles: Float32Array;

  /** Looks at the headers of the files only. Throws what `loadModel` rejects with. */
  constructor(config: LlamaConfig, weights: SafeTensorsModel, tokenizer: TextTokenizer) {
    this.config = config;
    this.weights = weights;
    this.tokenizer = tokenizer;
    this.#tensors = new Weights(weights, config);
    this.#angles = frequencies(config.headSize, config.rope);
  }

  /** Memory for a new text. */
  newState(): KvCache {
    return new KvCache(this.config);
  }

  /**
   * Runs tokens through the model, after those that the state has seen, and returns logits: `vocabulary` of them, or
   * [tokens, vocabulary] with `logits: 'all'`. The event loop has its turns meanwhile. When it rejects, the state is as it
   * was: INVALID_ARGUMENT for no tokens, one outside the vocabulary or another model's state, CONTEXT_FULL, BUSY, the signal's reason, and what
   * the library throws on reading (CLOSED after `close`).
   */
  async forward(state: KvCache, tokens: readonly number[], options: ForwardOptions = {}): Promise<Float32Array> {
    const all = this.#checked(tokens);
    if (state.config !== this.config) throw new LlamaError('INVALID_ARGUMENT', 'the state belongs to another model');
    if (state.busy) throw new LlamaError('BUSY', 'the state is in use by another call of forward');
    const { length } = state;
    const every = options.logits === 'all';
    const { vocabulary } = this.config;
    state.busy = true;
    try {
      state.requirePositions(all.length);
      const logits = new Float32Array((every ? all.length : 1) * vocabulary);
      for (let begin = 0; begin < all.length; begin += MOST_VECTORS) {
        const part = all.slice(begin, begin + MOST_VECTORS);
        const stream = await this.#layers(state, part, options.signal);
        if (every) {
          await this.#logits(stream, logits.subarray(begin * vocabulary, (begin + part.length) * vocabulary));
        } else if (begin + part.length === all.length) {
          await this.#logits(stream.subarray(-this.config.hidden), logits);
        }
        state.length += part.length;
      }
      return logits;
    } catch (error) {
      state.length = length;
      throw error;
    } finally {
      state.busy = false;
    }
  }

  /** Closes the files. Generations that are under way reject with CLOSED. */
  close(): void {
    this.weights.close();
  }

  async #layers(cache: KvCache, tokens: readonly number[], signal: AbortSignal | undefined): Promise<Float32Array> {
    const { config } = this;
    const stream = new Float32Array(tokens.length * config.hidden);
    const embedding = this.#tensors.matrix(EMBEDDING);
    tokens.forEach((token, t) => {
      embedding.slice(token).toFloat32Array(stream.subarray(t * config.hidden, (t + 1) * config.hidden));
    });
    const count = tokens.length;
    const pass: Pass = { config, weights: this.#tensors, cache, angles: this.#angles, count, stream, signal };
    for (let layer = 0; layer < config.layers; layer++) await runLayer(pass, layer);
    return stream;
  }

  /** Logits of vectors [count, hidden], which are normalized in place, into [count, vocabulary]. */
  async #logits(stream: Float32Array, logits: Float32Array): Promise<void> {
    const count = stream.length / this.config.hidden;
    normalize(stream, count, this.#tensors.vector(LAST_NORM), this.config.epsilon, stream);
    await multiply(this.#tensors.matrix(this.#tensors.output), undefined, stream, count, logits);
  }

  /** A copy, which the caller cannot change while it is in use. */
  #checked(tokens: readonly number[]): number[] {
    const { vocabulary } = this.config;
    const all = [...tokens];
    const wrong = all.findIndex((token) => !Number.isInteger(token) || token < 0 || token >= vocabulary);
    if (all.length > 0 && wrong < 0) return all;
    const what = all.length === 0 ? 'no tokens' : `token ${shown(all[wrong])}`;
    throw new LlamaError('INVALID_ARGUMENT', `${what}: forward takes one or more tokens from 0 to ${vocabulary - 1}`);
  }
}

// Owns attention of one new token over the tokens before it and itself. Refuses batches: each text has its own cache.

import type { KvCache } from './cache.js';
import type { LlamaConfig } from './config.js';
import { myTurn } from './turns.js';

/**
 * Attends from `query` ([heads, headSize]) at `position` to the cache's positions 0 to `position` of one layer. Each group
 * of query heads shares a head of keys and values. The result, of the query's shape, goes to `output`; `scores` has room
 * for position + 1 numbers. Gives up its turn between heads: over a long context even one takes milliseconds.
 */
export async function attend(
  config: LlamaConfig,
  cache: KvCache,
  layer: number,
  position: number,
  query: Float32Array,
  scores: Float32Array,
  output: Float32Array,
): Promise<void> {
  const { headSize, heads, keyHeads } = config;
  const width = keyHeads * headSize;
  const keys = cache.keys(layer);
  const values = cache.values(layer);
  const scale = 1 / Math.sqrt(headSize);
  output.fill(0);
  for (let head = 0; head < heads; head++) {
    await myTurn();
    const at = head * headSize;
    const shared = Math.floor((head * keyHeads) / heads) * headSize;
    let highest = Number.NEGATIVE_INFINITY;
    for (let p = 0; p <= position; p++) {
      const key = p * width + shared;
      let score = 0;
      for (let i = 0; i < headSize; i++) score += query[at + i]! * keys[key + i]!;
      scores[p] = score * scale;
      highest = Math.max(highest, scores[p]!);
    }
    let sum = 0;
    for (let p = 0; p <= position; p++) {
      const weight = Math.exp(scores[p]! - highest);
      scores[p] = weight;
      sum += weight;
    }
    for (let p = 0; p <= position; p++) {
      const value = p * width + shared;
      const weight = scores[p]! / sum;
      for (let i = 0; i < headSize; i++) output[at + i]! += weight * values[value + i]!;
    }
  }
}

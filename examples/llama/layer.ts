// Owns one layer: attention, then the feed-forward part, each added to what came in.
// Refuses to know how many layers there are.

import { attend } from './attention.js';
import type { KvCache } from './cache.js';
import type { LlamaConfig } from './config.js';
import { multiply } from './linear.js';
import { layerPrefix } from './names.js';
import { normalize } from './norm.js';
import { rotate } from './rope.js';
import { myTurn } from './turns.js';
import type { Weights } from './weights.js';

/** What all layers of one pass share. */
export interface Pass {
  readonly config: LlamaConfig;
  readonly weights: Weights;
  readonly cache: KvCache;
  /** Angles per position, of `frequencies`. */
  readonly angles: Float32Array;
  /** Number of tokens in this pass; the first is at position `cache.length`. */
  readonly count: number;
  /** [count, hidden]: what goes from layer to layer, in place. */
  readonly stream: Float32Array;
  readonly signal: AbortSignal | undefined;
}

/** Runs one layer over the tokens of a pass, and puts their keys and values into the cache. */
export async function runLayer(pass: Pass, layer: number): Promise<void> {
  const prefix = layerPrefix(layer);
  await attention(pass, layer, prefix);
  await feedForward(pass, prefix);
}

async function attention(pass: Pass, layer: number, prefix: string): Promise<void> {
  const { config, weights, cache, angles, count } = pass;
  const { headSize, epsilon } = config;
  const width = config.heads * headSize;
  const keyWidth = config.keyHeads * headSize;
  const input = normalized(pass, `${prefix}input_layernorm.weight`);
  const queries = await projected(pass, `${prefix}self_attn.q_proj`, input, width);
  const keys = await projected(pass, `${prefix}self_attn.k_proj`, input, keyWidth);
  const values = await projected(pass, `${prefix}self_attn.v_proj`, input, keyWidth);

  const queryNorm = weights.vectorIfAny(`${prefix}self_attn.q_norm.weight`);
  const keyNorm = weights.vectorIfAny(`${prefix}self_attn.k_norm.weight`);
  if (queryNorm !== undefined) normalize(queries, count * config.heads, queryNorm, epsilon, queries);
  if (keyNorm !== undefined) normalize(keys, count * config.keyHeads, keyNorm, epsilon, keys);
  for (let t = 0; t < count; t++) {
    rotate(queries.subarray(t * width, (t + 1) * width), angles, cache.length + t);
    rotate(keys.subarray(t * keyWidth, (t + 1) * keyWidth), angles, cache.length + t);
  }
  cache.put(layer, keys, values);

  const scores = new Float32Array(cache.length + count);
  const mixed = new Float32Array(count * width);
  for (let t = 0; t < count; t++) {
    const part = [t * width, (t + 1) * width] as const;
    await attend(config, cache, layer, cache.length + t, queries.subarray(...part), scores, mixed.subarray(...part));
  }
  addTo(pass.stream, await projected(pass, `${prefix}self_attn.o_proj`, mixed, config.hidden));
}

async function feedForward(pass: Pass, prefix: string): Promise<void> {
  const { hidden, intermediate } = pass.config;
  const input = normalized(pass, `${prefix}post_attention_layernorm.weight`);
  const gate = await projected(pass, `${prefix}mlp.gate_proj`, input, intermediate);
  const up = await projected(pass, `${prefix}mlp.up_proj`, input, intermediate);
  for (let t = 0; t < pass.count; t++) {
    await myTurn();
    for (let i = t * intermediate; i < (t + 1) * intermediate; i++) gate[i]! *= up[i]! / (1 + Math.exp(-gate[i]!));
  }
  addTo(pass.stream, await projected(pass, `${prefix}mlp.down_proj`, gate, hidden));
}

function normalized({ stream, count, weights, config }: Pass, name: string): Float32Array {
  const output = new Float32Array(stream.length);
  normalize(stream, count, weights.vector(name), config.epsilon, output);
  return output;
}

async function projected(pass: Pass, name: string, input: Float32Array, width: number): Promise<Float32Array> {
  pass.signal?.throwIfAborted();
  const output = new Float32Array(pass.count * width);
  const { weights } = pass;
  await multiply(weights.matrix(`${name}.weight`), weights.vectorIfAny(`${name}.bias`), input, pass.count, output);
  return output;
}

function addTo(sum: Float32Array, more: Float32Array): void {
  for (let i = 0; i < sum.length; i++) sum[i]! += more[i]!;
}

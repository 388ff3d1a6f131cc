// Owns the names of the tensors in Hugging Face's files and the shapes that a configuration gives them.
// Refuses to look into a file.

import type { LlamaConfig } from './config.js';

/** One row for each token. */
export const EMBEDDING = 'model.embed_tokens.weight';
/** The output matrix of models that are not tied. */
export const OUTPUT = 'lm_head.weight';
/** Weights of the last normalization. */
export const LAST_NORM = 'model.norm.weight';

type Shapes = Generator<[name: string, shape: readonly number[]], undefined>;

/** What a layer's tensors are called. */
export function layerPrefix(layer: number): string {
  return `model.layers.${layer}.`;
}

/** What the model cannot do without. */
export function* requiredShapes(config: LlamaConfig): Shapes {
  const { hidden, intermediate, vocabulary } = config;
  const [queries, keys] = [config.heads * config.headSize, config.keyHeads * config.headSize];
  yield [EMBEDDING, [vocabulary, hidden]];
  for (let layer = 0; layer < config.layers; layer++) {
    const prefix = layerPrefix(layer);
    yield [`${prefix}input_layernorm.weight`, [hidden]];
    yield [`${prefix}self_attn.q_proj.weight`, [queries, hidden]];
    yield [`${prefix}self_attn.k_proj.weight`, [keys, hidden]];
    yield [`${prefix}self_attn.v_proj.weight`, [keys, hidden]];
    yield [`${prefix}self_attn.o_proj.weight`, [hidden, queries]];
    yield [`${prefix}post_attention_layernorm.weight`, [hidden]];
    yield [`${prefix}mlp.gate_proj.weight`, [intermediate, hidden]];
    yield [`${prefix}mlp.up_proj.weight`, [intermediate, hidden]];
    yield [`${prefix}mlp.down_proj.weight`, [hidden, intermediate]];
  }
  yield [LAST_NORM, [hidden]];
  if (!config.tied) yield [OUTPUT, [vocabulary, hidden]];
  // Qwen 3 normalizes queries and keys, Qwen 2 adds to them: without these the numbers would be another model's.
  for (let layer = 0; layer < config.layers; layer++) {
    const prefix = `${layerPrefix(layer)}self_attn.`;
    if (config.family === 'qwen3') {
      yield [`${prefix}q_norm.weight`, [config.headSize]];
      yield [`${prefix}k_norm.weight`, [config.headSize]];
    }
    if (config.family === 'qwen2') {
      yield [`${prefix}q_proj.bias`, [queries]];
      yield [`${prefix}k_proj.bias`, [keys]];
      yield [`${prefix}v_proj.bias`, [keys]];
    }
  }
}

/** What some models have besides; where a file has it, it is used. */
export function* optionalShapes(config: LlamaConfig): Shapes {
  const { hidden, intermediate } = config;
  const [queries, keys] = [config.heads * config.headSize, config.keyHeads * config.headSize];
  for (let layer = 0; layer < config.layers; layer++) {
    const prefix = layerPrefix(layer);
    yield [`${prefix}self_attn.q_proj.bias`, [queries]];
    yield [`${prefix}self_attn.k_proj.bias`, [keys]];
    yield [`${prefix}self_attn.v_proj.bias`, [keys]];
    yield [`${prefix}self_attn.o_proj.bias`, [hidden]];
    yield [`${prefix}self_attn.q_norm.weight`, [config.headSize]];
    yield [`${prefix}self_attn.k_norm.weight`, [config.headSize]];
    yield [`${prefix}mlp.gate_proj.bias`, [intermediate]];
    yield [`${prefix}mlp.up_proj.bias`, [intermediate]];
    yield [`${prefix}mlp.down_proj.bias`, [hidden]];
  }
}

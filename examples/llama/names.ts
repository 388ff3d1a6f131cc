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

/** What the model cannot do without: without its norms or biases the numbers would be another model's. */
export function* requiredShapes(config: LlamaConfig): Shapes {
  const { hidden, vocabulary } = config;
  yield [EMBEDDING, [vocabulary, hidden]];
  for (let layer = 0; layer < config.layers; layer++) {
    yield* attentionShapes(config, layerPrefix(layer));
    yield* feedForwardShapes(config, layerPrefix(layer));
  }
  yield [LAST_NORM, [hidden]];
  if (!config.tied) yield [OUTPUT, [vocabulary, hidden]];
}

function* attentionShapes({ hidden, heads, keyHeads, headSize, family, biases }: LlamaConfig, prefix: string): Shapes {
  const [queries, keys] = [heads * headSize, keyHeads * headSize];
  const attention = `${prefix}self_attn.`;
  yield [`${prefix}input_layernorm.weight`, [hidden]];
  yield [`${attention}q_proj.weight`, [queries, hidden]];
  yield [`${attention}k_proj.weight`, [keys, hidden]];
  yield [`${attention}v_proj.weight`, [keys, hidden]];
  yield [`${attention}o_proj.weight`, [hidden, queries]];
  if (biases.queries) {
    yield [`${attention}q_proj.bias`, [queries]];
    yield [`${attention}k_proj.bias`, [keys]];
    yield [`${attention}v_proj.bias`, [keys]];
  }
  if (biases.attention) yield [`${attention}o_proj.bias`, [hidden]];
  if (family === 'qwen3') {
    yield [`${attention}q_norm.weight`, [headSize]];
    yield [`${attention}k_norm.weight`, [headSize]];
  }
}

function* feedForwardShapes({ hidden, intermediate, biases }: LlamaConfig, prefix: string): Shapes {
  yield [`${prefix}post_attention_layernorm.weight`, [hidden]];
  yield [`${prefix}mlp.gate_proj.weight`, [intermediate, hidden]];
  yield [`${prefix}mlp.up_proj.weight`, [intermediate, hidden]];
  yield [`${prefix}mlp.down_proj.weight`, [hidden, intermediate]];
  if (biases.feedForward) {
    yield [`${prefix}mlp.gate_proj.bias`, [intermediate]];
    yield [`${prefix}mlp.up_proj.bias`, [intermediate]];
    yield [`${prefix}mlp.down_proj.bias`, [hidden]];
  }
}

/** Whether a tensor changes what layers compute where it is there: one that no configuration asks for is a contradiction. */
export function changesLayers(name: string): boolean {
  return /^model\.layers\.\d+\..*(\.bias|_norm\.weight)$/.test(name);
}

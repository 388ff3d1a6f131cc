// Owns what config.json says of a model: its family, its sizes, its rotary embedding.
// Refuses every setting that this example would compute wrongly.

import { LlamaError, shown } from './errors.js';
import type { Fields } from './fields.js';

/** Families whose layers are these: RMSNorm, rotary attention over groups of heads, SwiGLU. */
const FAMILIES: readonly string[] = ['llama', 'qwen2', 'qwen3'];

/** Sizes and settings of a model, under this example's names. */
export interface LlamaConfig {
  readonly family: string;
  /** Number of tokens in the vocabulary. */
  readonly vocabulary: number;
  /** Elements of the vector that goes from layer to layer. */
  readonly hidden: number;
  /** Elements between the two halves of the feed-forward part. */
  readonly intermediate: number;
  readonly layers: number;
  /** Heads of the queries; a multiple of `keyHeads`. */
  readonly heads: number;
  /** Heads of the keys and values. */
  readonly keyHeads: number;
  /** Elements of one head; even. */
  readonly headSize: number;
  /** Positions that the model was made for: prompt and answer together. */
  readonly positions: number;
  readonly epsilon: number;
  readonly rope: RopeConfig;
  /** Whether the embedding serves as the output matrix, too. */
  readonly tied: boolean;
  /** Tokens that end a text. */
  readonly endTokens: readonly number[];
}

/** How positions become angles. */
export interface RopeConfig {
  readonly theta: number;
  /** Llama 3's stretching of the slow frequencies. */
  readonly llama3?: {
    readonly factor: number;
    readonly lowFactor: number;
    readonly highFactor: number;
    readonly originalPositions: number;
  };
}

/**
 * Reads config.json and generation_config.json, whose end tokens win. Throws INVALID_CONFIG where a field is missing or
 * senseless, UNSUPPORTED_MODEL where the model needs more than this example has.
 */
export function readConfig(config: Fields, generation: Fields): LlamaConfig {
  const family = config.text('model_type', '');
  require(config, FAMILIES.includes(family), `"model_type" is ${shown(family)}, not one of ${FAMILIES.join(', ')}`);
  require(config, config.text('hidden_act', 'silu') === 'silu', `"hidden_act" is ${shown(config.raw('hidden_act'))}`);
  require(config, config.raw('quantization_config') === undefined, 'its weights are quantized');
  require(config, !config.flag('use_sliding_window', false), 'its attention has a sliding window');

  const hidden = config.count('hidden_size');
  const heads = config.count('num_attention_heads');
  const keyHeads = config.count('num_key_value_heads', heads);
  const headSize = config.count('head_dim', Math.floor(hidden / heads));
  if (heads % keyHeads !== 0 || headSize % 2 !== 0) {
    const message = `${heads} heads over ${keyHeads} key heads of ${headSize} elements: the first number should be a multiple of the second, the third even`;
    throw new LlamaError('INVALID_CONFIG', `${shown(config.path)}: ${message}`);
  }
  const endTokens = generation.tokens('eos_token_id');
  return {
    family,
    vocabulary: config.count('vocab_size'),
    hidden,
    intermediate: config.count('intermediate_size'),
    layers: config.count('num_hidden_layers'),
    heads,
    keyHeads,
    headSize,
    positions: config.count('max_position_embeddings'),
    epsilon: config.positive('rms_norm_eps'),
    rope: readRope(config),
    tied: config.flag('tie_word_embeddings', false),
    endTokens: endTokens.length > 0 ? endTokens : config.tokens('eos_token_id'),
  };
}

/** From `rope_parameters`, or from `rope_theta` and `rope_scaling` as files before transformers 5 have them. */
function readRope(config: Fields): RopeConfig {
  const rope = config.within('rope_parameters') ?? config.within('rope_scaling');
  const theta =
    rope?.raw('rope_theta') === undefined ? config.positive('rope_theta', 10_000) : rope.positive('rope_theta');
  const type = rope?.text('rope_type', rope.text('type', 'default')) ?? 'default';
  const turned = rope?.raw('partial_rotary_factor') ?? config.raw('partial_rotary_factor') ?? 1;
  require(config, turned === 1, 'its rotary embedding turns a part of each head only');
  if (rope === undefined || type === 'default') return { theta };
  require(config, type === 'llama3', `its rotary embedding is of the type ${shown(type)}`);
  return {
    theta,
    llama3: {
      factor: rope.positive('factor'),
      lowFactor: rope.positive('low_freq_factor'),
      highFactor: rope.positive('high_freq_factor'),
      originalPositions: rope.count('original_max_position_embeddings'),
    },
  };
}

function require(config: Fields, condition: boolean, otherwise: string): void {
  if (!condition) throw new LlamaError('UNSUPPORTED_MODEL', `${shown(config.path)}: ${otherwise}`);
}

// Owns what config.json says of a model: its family, its sizes, its rotary embedding.
// Refuses every setting that this example would compute wrongly.

import { LlamaError, shown } from './errors.js';
import type { Fields } from './fields.js';

/** Families whose layers are these: RMSNorm, rotary attention over groups of heads, SwiGLU. */
const FAMILIES: readonly string[] = ['llama', 'qwen2', 'qwen3'];

/** Beside the rotary settings it wins over the one among them. */
const ORIGINAL_POSITIONS = 'original_max_position_embeddings';

/** What transformers takes where a Qwen 3 does not say. */
const QWEN3_HEAD_SIZE = 128;

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
  /** Whether the embedding serves as the output matrix, too, where the files have none. */
  readonly tied: boolean;
  readonly biases: Biases;
  /** Tokens that end a text. */
  readonly endTokens: readonly number[];
}

/** Which products have something added to them. */
interface Biases {
  /** Queries, keys and values. */
  readonly queries: boolean;
  /** What comes out of attention. */
  readonly attention: boolean;
  /** All three of the feed-forward part. */
  readonly feedForward: boolean;
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
  const quantized = config.raw('quantization_config');
  require(config, quantized === undefined, `its weights are quantized: "quantization_config" is ${shown(quantized)}`);
  require(config, !config.flag('use_sliding_window', false), '"use_sliding_window" is true; here all tokens are seen');
  const kind = [config.raw('layer_types') ?? []].flat().find((type) => type !== 'full_attention');
  require(config, kind === undefined, `"layer_types" has ${shown(kind)}, not only "full_attention"`);

  const hidden = config.count('hidden_size');
  const heads = config.count('num_attention_heads');
  const keyHeads = config.count('num_key_value_heads', heads);
  const headSize = config.count('head_dim', family === 'qwen3' ? QWEN3_HEAD_SIZE : Math.floor(hidden / heads));
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
    biases: readBiases(config, family),
    endTokens: endTokens.length > 0 ? endTokens : config.tokens('eos_token_id'),
  };
}

/** Qwen 2 always has the first; the settings are those that transformers looks at for each family. */
function readBiases(config: Fields, family: string): Biases {
  const attention = family !== 'qwen2' && config.flag('attention_bias', false);
  const feedForward = family === 'llama' && config.flag('mlp_bias', false);
  return { queries: attention || family === 'qwen2', attention, feedForward };
}

/** From `rope_parameters`, or from `rope_theta` and `rope_scaling` as files before transformers 5 have them. */
function readRope(config: Fields): RopeConfig {
  // Of two, transformers takes the older one, unless it is empty.
  const places = [config.within('rope_scaling'), config.within('rope_parameters')];
  const rope = places.find((place) => place !== undefined && Object.keys(place.all).length > 0);
  const theta =
    rope?.raw('rope_theta') === undefined ? config.positive('rope_theta', 10_000) : rope.positive('rope_theta');
  const type = rope?.text('rope_type', rope.text('type', 'default')) ?? 'default';
  const turned = rope?.raw('partial_rotary_factor') ?? config.raw('partial_rotary_factor') ?? 1;
  require(config, turned === 1, `"partial_rotary_factor" is ${shown(turned)}: a part of each head is turned`);
  const nested = Object.values(rope?.all ?? {}).some((value) => typeof value === 'object' && value !== null);
  require(config, type === 'llama3' || type === 'default', `its rotary embedding is of the type ${shown(type)}`);
  require(config, !nested, 'its rotary embedding has settings for each kind of layer');
  if (rope === undefined || type === 'default') return { theta };
  const llama3 = {
    factor: rope.positive('factor'),
    lowFactor: rope.positive('low_freq_factor'),
    highFactor: rope.positive('high_freq_factor'),
    originalPositions: (config.raw(ORIGINAL_POSITIONS) === undefined ? rope : config).count(ORIGINAL_POSITIONS),
  };
  if (llama3.highFactor > llama3.lowFactor) return { theta, llama3 };
  const message = `"high_freq_factor" is ${llama3.highFactor}; it should be above "low_freq_factor", ${llama3.lowFactor}`;
  throw new LlamaError('INVALID_CONFIG', `${shown(rope.path)}: ${message}`);
}

function require(config: Fields, condition: boolean, otherwise: string): void {
  if (!condition) throw new LlamaError('UNSUPPORTED_MODEL', `${shown(config.path)}: ${otherwise}`);
}

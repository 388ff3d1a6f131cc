// Owns what the example says of tensors that do not fit the configuration, and which of them it computes with.
// Refuses files by hand: the library writes them.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openModel, save, type TensorInput } from 'safetensors-mmap';
import { afterAll, describe, expect, it } from 'vitest';
import { readConfig } from '../../examples/llama/config.js';
import { Fields } from '../../examples/llama/fields.js';
import { loadModel } from '../../examples/llama/index.js';
import { LlamaModel } from '../../examples/llama/model.js';
import { OUTPUT, requiredShapes } from '../../examples/llama/names.js';

const TRAINED = fileURLToPath(new URL('../../examples/models/kjv-llama', import.meta.url));
const directory = mkdtempSync(join(tmpdir(), 'safetensors-weights-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const { tokenizer, weights } = await loadModel(TRAINED);
weights.close();

const SMALL = {
  model_type: 'llama',
  vocab_size: 5,
  hidden_size: 4,
  intermediate_size: 3,
  num_hidden_layers: 2,
  num_attention_heads: 2,
  max_position_embeddings: 8,
  rms_norm_eps: 1e-5,
};
const configOf = (changes: object) =>
  readConfig(new Fields({ ...SMALL, ...changes }, 'config.json'), new Fields({}, 'generation_config.json'));

const Q = 'model.layers.1.self_attn.q_proj';
let files = 0;

/** A model of the configuration with its tensors, but for those that are replaced, added or (undefined) left out. */
async function modelOf(changes: object, tensors: Record<string, TensorInput | undefined> = {}): Promise<LlamaModel> {
  const config = configOf(changes);
  const all = new Map<string, TensorInput>();
  for (const [name, shape] of requiredShapes(config)) all.set(name, numbers(shape));
  for (const [name, tensor] of Object.entries(tensors)) {
    if (tensor === undefined) all.delete(name);
    else all.set(name, tensor);
  }
  const path = join(directory, `${files++}.safetensors`);
  await save(path, all);
  const file = await openModel(path);
  try {
    return new LlamaModel(config, file, tokenizer);
  } catch (error) {
    file.close();
    throw error;
  }
}

function numbers(shape: readonly number[], seed = 0): TensorInput {
  const length = shape.reduce((product, dimension) => product * dimension, 1);
  return { dtype: 'F32', shape, data: Float32Array.from({ length }, (_, i) => Math.sin(i + seed + length)) };
}

async function logitsOf(model: LlamaModel): Promise<Float32Array> {
  const logits = await model.forward(model.newState(), [1, 4, 2]);
  model.close();
  return logits;
}

describe('Weights', () => {
  it.each<[string, object, Record<string, TensorInput | undefined>, string, RegExp]>([
    [
      'FP8',
      {},
      { [`${Q}.weight`]: { dtype: 'F8_E4M3', shape: [4, 4], data: new Uint8Array(16) } },
      'UNSUPPORTED_MODEL',
      /^tensor "model\.layers\.1\.self_attn\.q_proj\.weight" of ".*" is F8_E4M3; .* BF16, F16, F32, F64$/,
    ],
    [
      'packed integers',
      {},
      { [`${Q}.weight`]: undefined, [`${Q}.qweight`]: { dtype: 'I32', shape: [1, 4], data: new Int32Array(4) } },
      'TENSOR_NOT_FOUND',
      /q_proj\.weight"/,
    ],
    [
      'a transposed matrix',
      {},
      { 'model.layers.0.mlp.up_proj.weight': numbers([4, 3]) },
      'INVALID_CONFIG',
      /up_proj\.weight" .* has the shape \[4, 3\]; by the configuration it is \[3, 4\]/,
    ],
    ['no output matrix', {}, { [OUTPUT]: undefined }, 'TENSOR_NOT_FOUND', /"lm_head\.weight"/],
    [
      'a bias that the configuration lacks',
      {},
      { [`${Q}.bias`]: numbers([4]) },
      'INVALID_CONFIG',
      /^tensor "model\.layers\.1\.self_attn\.q_proj\.bias" of ".*" has no place in /,
    ],
    [
      'norms that the family lacks',
      {},
      { 'model.layers.0.self_attn.k_norm.weight': numbers([2]) },
      'INVALID_CONFIG',
      /k_norm/,
    ],
    [
      'a bias that the file lacks',
      { attention_bias: true },
      { [`${Q}.bias`]: undefined },
      'TENSOR_NOT_FOUND',
      /q_proj\.bias"/,
    ],
    [
      'an output matrix of another shape, though tied',
      { tie_word_embeddings: true },
      { [OUTPUT]: numbers([5, 3]) },
      'INVALID_CONFIG',
      /"lm_head\.weight" .* has the shape \[5, 3\]/,
    ],
  ])('refuses %s', async (_, changes, tensors, code, message) => {
    await expect(modelOf(changes, tensors)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  });

  it('passes over tensors that are nothing to it', async () => {
    const extra = { 'model.layers.0.self_attn.rotary_emb.inv_freq': numbers([1]), 'score.bias': numbers([3]) };
    expect(await logitsOf(await modelOf({}, extra))).toEqual(await logitsOf(await modelOf({})));
  });

  it('takes the output matrix of a tied model’s file where there is one, as transformers 5 does', async () => {
    const output = numbers([5, 4], 0.5);
    const tied = await modelOf({ tie_word_embeddings: true }, { [OUTPUT]: output });
    expect(await logitsOf(tied)).toEqual(await logitsOf(await modelOf({}, { [OUTPUT]: output })));
    const without = await modelOf({ tie_word_embeddings: true });
    expect(await logitsOf(without)).toEqual(await logitsOf(await modelOf({}, { [OUTPUT]: numbers([5, 4]) })));
  });
});

// Owns what the example says of a directory that is no model, or none that it computes.
// Refuses the library's own errors beyond seeing that they come through.

import { copyFileSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { readConfig } from '../../examples/llama/config.js';
import { Fields } from '../../examples/llama/fields.js';
import { loadModel } from '../../examples/llama/index.js';

const MODEL = fileURLToPath(new URL('../../examples/models/kjv-llama', import.meta.url));
const config = JSON.parse(readFileSync(join(MODEL, 'config.json'), 'utf8')) as Record<string, unknown>;
const directory = mkdtempSync(join(tmpdir(), 'safetensors-llama-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const LLAMA3 = {
  rope_type: 'llama3',
  factor: 8,
  low_freq_factor: 1,
  high_freq_factor: 4,
  original_max_position_embeddings: 8192,
};

const read = (changes: Record<string, unknown>, generation: unknown = {}) =>
  readConfig(new Fields({ ...config, ...changes }, 'config.json'), new Fields(generation, 'generation_config.json'));

describe('readConfig', () => {
  it.each<[Record<string, unknown>, string, RegExp]>([
    [{ model_type: 'gpt2' }, 'UNSUPPORTED_MODEL', /"model_type" is "gpt2", not one of llama, qwen2, qwen3/],
    [{ model_type: undefined }, 'UNSUPPORTED_MODEL', /"model_type" is ""/],
    [{ hidden_act: 'gelu' }, 'UNSUPPORTED_MODEL', /"hidden_act" is "gelu"/],
    [{ quantization_config: { bits: 4 } }, 'UNSUPPORTED_MODEL', /quantized: "quantization_config" is {"bits":4}/],
    [{ use_sliding_window: true }, 'UNSUPPORTED_MODEL', /"use_sliding_window" is true/],
    [{ rope_parameters: { rope_type: 'yarn', factor: 4 } }, 'UNSUPPORTED_MODEL', /of the type "yarn"/],
    [{ rope_parameters: null, rope_scaling: { type: 'linear' } }, 'UNSUPPORTED_MODEL', /of the type "linear"/],
    [{ layer_types: ['full_attention', 'sliding_attention'] }, 'UNSUPPORTED_MODEL', /has "sliding_attention"/],
    [{ layer_types: 'chunked' }, 'UNSUPPORTED_MODEL', /"layer_types" has "chunked", not only/],
    [{ rope_scaling: { type: 'linear', factor: 2 } }, 'UNSUPPORTED_MODEL', /of the type "linear"/],
    [{ rope_parameters: { full_attention: { rope_theta: 5 } } }, 'UNSUPPORTED_MODEL', /for each kind of layer/],
    [
      { rope_parameters: { ...LLAMA3, high_freq_factor: 1 } },
      'INVALID_CONFIG',
      /"high_freq_factor" is 1; it should be above "low_freq_factor", 1/,
    ],
    [{ rope_parameters: { ...LLAMA3, factor: -8 } }, 'INVALID_CONFIG', /"factor" should be a number above 0; it is -8/],
    [{ rms_norm_eps: Number.POSITIVE_INFINITY }, 'INVALID_CONFIG', /"rms_norm_eps" should be .*; it is Infinity/],
    [{ rms_norm_eps: '1e-5' }, 'INVALID_CONFIG', /"rms_norm_eps" should be a number above 0; it is "1e-5"/],
    [{ attention_bias: 1 }, 'INVALID_CONFIG', /"attention_bias" should be true or false; it is 1/],
    [{ partial_rotary_factor: 0.5 }, 'UNSUPPORTED_MODEL', /"partial_rotary_factor" is 0.5/],
    [{ hidden_size: 0 }, 'INVALID_CONFIG', /"hidden_size" should be a number above 0; it is 0/],
    [{ hidden_size: 2 ** 40 }, 'INVALID_CONFIG', /"hidden_size" should be a whole number below 2\^31/],
    [{ hidden_size: undefined }, 'INVALID_CONFIG', /"hidden_size" should be .*; it is missing/],
    [{ vocab_size: '1024' }, 'INVALID_CONFIG', /"vocab_size" should be .*; it is "1024"/],
    [{ num_key_value_heads: 4 }, 'INVALID_CONFIG', /6 heads over 4 key heads/],
    [{ head_dim: 31 }, 'INVALID_CONFIG', /of 31 elements/],
    [{ tie_word_embeddings: 'yes' }, 'INVALID_CONFIG', /"tie_word_embeddings" should be true or false/],
    [{ eos_token_id: ['a'] }, 'INVALID_CONFIG', /"eos_token_id" should be a token number or a list/],
    [{ rope_parameters: 7 }, 'INVALID_CONFIG', /config.json: rope_parameters" should hold a JSON object/],
  ])('refuses %j', (changes, code, message) => {
    expect(() => read(changes)).toThrow(
      expect.objectContaining({ name: 'LlamaError', code, message: expect.stringMatching(message) }),
    );
  });

  it('reads the rotary embedding as older files have it', () => {
    expect(read({ rope_parameters: null, rope_theta: 500_000, rope_scaling: LLAMA3 }).rope).toEqual({
      theta: 500_000,
      llama3: { factor: 8, lowFactor: 1, highFactor: 4, originalPositions: 8192 },
    });
    expect(read({ rope_parameters: null, rope_theta: undefined }).rope).toEqual({ theta: 10_000 });
    expect(read({ rope_parameters: { rope_theta: 7 }, rope_scaling: {} }).rope).toEqual({ theta: 7 });
    const beside = read({ rope_parameters: LLAMA3, original_max_position_embeddings: 512 }).rope;
    expect(beside.llama3?.originalPositions).toBe(512);
  });

  it('takes what transformers takes where nothing is said', () => {
    const unsaid = { head_dim: undefined, num_key_value_heads: undefined, tie_word_embeddings: undefined };
    expect(read(unsaid)).toMatchObject({ headSize: 32, keyHeads: 6, tied: false });
    expect(read({ ...unsaid, model_type: 'qwen3' })).toMatchObject({ headSize: 128, keyHeads: 6, tied: false });
  });

  it.each([
    [
      'llama',
      { queries: false, attention: false, feedForward: false },
      { queries: true, attention: true, feedForward: true },
    ],
    [
      'qwen2',
      { queries: true, attention: false, feedForward: false },
      { queries: true, attention: false, feedForward: false },
    ],
    [
      'qwen3',
      { queries: false, attention: false, feedForward: false },
      { queries: true, attention: true, feedForward: false },
    ],
  ])('knows which biases a %s has, without and with the settings', (model_type, without, withThem) => {
    expect(read({ model_type }).biases).toEqual(without);
    expect(read({ model_type, attention_bias: true, mlp_bias: true }).biases).toEqual(withThem);
  });

  it('prefers the end tokens of the generation’s configuration', () => {
    expect(read({ eos_token_id: 1 }).endTokens).toEqual([1]);
    expect(read({ eos_token_id: 1 }, { eos_token_id: [3, 4] }).endTokens).toEqual([3, 4]);
    expect(read({ eos_token_id: null }).endTokens).toEqual([]);
  });
});

describe('loadModel', () => {
  it('maps nothing that is not used, and reads with the other backend', async () => {
    const model = await loadModel(MODEL, { backend: 'read' });
    expect(model.weights.backend).toBe('read');
    expect(model.config).toMatchObject({ family: 'llama', layers: 4, heads: 6, keyHeads: 2, tied: true });
    model.close();
    expect(model.weights.closed).toBe(true);
  });

  it('says what is missing, broken or of another shape', async () => {
    await expect(loadModel(join(directory, 'none'))).rejects.toMatchObject({ code: 'ENOENT' });
    const put = (name: string, value: unknown) => writeFileSync(join(directory, name), JSON.stringify(value));
    writeFileSync(join(directory, 'config.json'), '{');
    await expect(loadModel(directory)).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
      message: /config.json" is not JSON/,
    });
    put('config.json', config);
    put('tokenizer.json', {});
    await expect(loadModel(directory)).rejects.toMatchObject({ code: 'INVALID_CONFIG', message: /as a tokenizer/ });
    copyFileSync(join(MODEL, 'tokenizer.json'), join(directory, 'tokenizer.json'));
    await expect(loadModel(directory)).rejects.toMatchObject({ name: 'SafeTensorsError', code: 'MODEL_NOT_FOUND' });
    for (const name of [
      'model.safetensors.index.json',
      'model-00001-of-00002.safetensors',
      'model-00002-of-00002.safetensors',
    ]) {
      symlinkSync(join(MODEL, name), join(directory, name));
    }
    (await loadModel(directory)).close();
    put('config.json', { ...config, intermediate_size: 500 });
    await expect(loadModel(directory)).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
      message: /mlp\.gate_proj\.weight" .* has the shape \[512, 192\]; by the configuration it is \[500, 192\]/,
    });
    put('config.json', { ...config, num_hidden_layers: 5 });
    await expect(loadModel(directory)).rejects.toMatchObject({ code: 'TENSOR_NOT_FOUND' });
    put('config.json', { ...config, model_type: 'qwen3' });
    await expect(loadModel(directory)).rejects.toMatchObject({ code: 'TENSOR_NOT_FOUND' });
  });
});

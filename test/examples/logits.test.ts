// Owns the proof that the example computes what transformers does: logits over the cache, and the greedy continuation.
// Refuses to compute expectations: examples/llama/train/make_fixtures.py has written them down.

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openModel, openSync } from 'safetensors-mmap';
import { describe, expect, it } from 'vitest';
import { readConfig } from '../../examples/llama/config.js';
import { Fields, readFields } from '../../examples/llama/fields.js';
import { loadModel } from '../../examples/llama/index.js';
import { LlamaModel } from '../../examples/llama/model.js';

const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const FIXTURES = at('test/fixtures/llama');
const TRAINED = at('examples/models/kjv-llama');
const PREFILL = 8;

function expectations(name: string) {
  using file = openSync(join(FIXTURES, name, 'expected.safetensors'));
  const integers = (tensor: string) => [...file.tensor(tensor).toFloat32Array()];
  const logits = file.tensor('logits');
  return {
    tokens: integers('tokens'),
    greedy: integers('greedy'),
    rows: Array.from({ length: logits.shape[0]! }, (_, row) => logits.slice(row).toFloat32Array()),
  };
}

/** A tiny model, which has no tokenizer of its own. */
async function tiny(name: string): Promise<LlamaModel> {
  const directory = join(FIXTURES, name);
  const config = readConfig(await readFields(join(directory, 'config.json')), new Fields({}, 'none'));
  const { tokenizer } = trained;
  return new LlamaModel(config, await openModel(directory), tokenizer);
}

/** Largest difference, relative to the expected logit, or to the logits' mean size where that is near 0. */
function relativeError(found: Float32Array, expected: Float32Array): number {
  expect(found).toHaveLength(expected.length);
  const size = expected.reduce((sum, logit) => sum + Math.abs(logit), 0) / expected.length;
  let most = 0;
  expected.forEach((logit, i) => {
    most = Math.max(most, Math.abs(found[i]! - logit) / Math.max(Math.abs(logit), size));
  });
  return most;
}

const trained = await loadModel(TRAINED);

describe.each(['llama', 'llama-biases', 'qwen2', 'qwen3', 'qwen3-biases', 'kjv-llama'])('%s', (name) => {
  const load = () => (name === 'kjv-llama' ? loadModel(TRAINED) : tiny(name));

  it('gives the logits of transformers for 32 tokens, first eight at once, then one by one', async () => {
    const { tokens, rows } = expectations(name);
    const model = await load();
    const state = model.newState();
    const first = await model.forward(state, tokens.slice(0, PREFILL), { logits: 'all' });
    const { vocabulary } = model.config;
    const found = Array.from({ length: PREFILL }, (_, t) => first.subarray(t * vocabulary, (t + 1) * vocabulary));
    for (const token of tokens.slice(PREFILL)) found.push(await model.forward(state, [token]));
    model.close();
    expect(found).toHaveLength(32);
    expect(state.length).toBe(32);
    const errors = found.map((logits, t) => relativeError(logits, rows[t]!));
    expect(Math.max(...errors)).toBeLessThan(1e-4);
  });

  it('continues with the same likeliest tokens', async () => {
    const { tokens, greedy } = expectations(name);
    const model = await load();
    const state = model.newState();
    const found: number[] = [];
    let next = tokens.slice(0, PREFILL);
    while (found.length < greedy.length) {
      const logits = await model.forward(state, next);
      const likeliest = logits.indexOf(Math.max(...logits));
      found.push(likeliest);
      next = [likeliest];
    }
    model.close();
    expect(found).toEqual(greedy);
  });
});

// Owns the way from a Hugging Face directory to a model. Refuses to read a weight: the files are mapped when first used.

import { join } from 'node:path';
import { type OpenOptions, openModel } from 'safetensors-mmap';
import { readConfig } from './config.js';
import { readFields, readFieldsIfAny, readJson } from './fields.js';
import { LlamaModel } from './model.js';
import { TextTokenizer } from './tokenizer.js';

/**
 * Opens a model: config.json, tokenizer.json and the weights; generation_config.json and tokenizer_config.json where they
 * are there. `options` are those of the library's `openModel`. Rejects with INVALID_CONFIG, UNSUPPORTED_MODEL, with Node's
 * error for a file that cannot be read, and with what `openModel` rejects with.
 */
export async function loadModel(directory: string, options?: OpenOptions): Promise<LlamaModel> {
  const path = (name: string) => join(directory, name);
  const config = readConfig(
    await readFields(path('config.json')),
    await readFieldsIfAny(path('generation_config.json')),
  );
  const rules = await readJson(path('tokenizer.json'));
  const settings = (await readFieldsIfAny(path('tokenizer_config.json'))).all;
  const tokenizer = new TextTokenizer(rules, settings, path('tokenizer.json'));
  const weights = await openModel(directory, options);
  try {
    return new LlamaModel(config, weights, tokenizer);
  } catch (error) {
    weights.close();
    throw error;
  }
}

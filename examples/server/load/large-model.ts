// Owns a model that is large and means nothing, for as long as a run lasts. Refuses to be in memory when it is made.

import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open, save, type TensorInput } from 'safetensors-mmap';
import { readConfig } from '../../llama/config.js';
import { Fields } from '../../llama/fields.js';
import { requiredShapes } from '../../llama/names.js';

/** What a layer of this width takes, in bytes of BF16: four square matrices of attention, three of twice that. */
const WIDTH = 2048;
const LAYER_BYTES = 2 * WIDTH * WIDTH * (4 + 3 * 2);

/** A directory with a model of about so many bytes; the tokenizer is that of the model given. */
export async function makeLargeModel(like: string, byteLength: number): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'safetensors-load-'));
  try {
    await fill(directory, like, byteLength);
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw error;
  }
  return directory;
}

async function fill(directory: string, like: string, byteLength: number): Promise<void> {
  const settings = {
    ...(JSON.parse(await readFile(join(like, 'config.json'), 'utf8')) as object),
    hidden_size: WIDTH,
    intermediate_size: 2 * WIDTH,
    num_attention_heads: WIDTH / 64,
    num_key_value_heads: WIDTH / 64,
    head_dim: 64,
    num_hidden_layers: Math.max(1, Math.round(byteLength / LAYER_BYTES)),
  };
  await writeFile(join(directory, 'config.json'), JSON.stringify(settings));
  await copyFile(join(like, 'tokenizer.json'), join(directory, 'tokenizer.json'));
  const config = readConfig(new Fields(settings, 'config.json'), new Fields({}, 'generation_config.json'));
  // One array stands for every tensor: what is in it is of no importance.
  const numbers = new Uint16Array(2 * WIDTH * WIDTH).fill(0x3c00);
  const tensors = new Map<string, TensorInput>();
  for (const [name, shape] of requiredShapes(config)) {
    const length = shape.reduce((product, dimension) => product * dimension, 1);
    tensors.set(name, { dtype: 'BF16', shape, data: numbers.subarray(0, length) });
  }
  const file = join(directory, 'model.safetensors');
  await save(file, tensors);
  const written = await open(file);
  written.evict();
  written.close();
}

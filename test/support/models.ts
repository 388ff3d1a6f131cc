// Owns directories with models in them, each made for one test, right or wrong.
// Refuses to open them.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileOf, type Scratch, type TensorSpec } from './files.js';

/** The name that an index has by convention. */
export const INDEX = 'model.safetensors.index.json';

/** Files by name, given by their bytes, their text, or the names of their tensors. */
export type ModelFiles = Readonly<Record<string, Uint8Array | string | readonly string[]>>;

let models = 0;

/** Makes a directory of its own. */
export function directoryOf(folder: Scratch, files: ModelFiles): string {
  const name = `model-${models++}`;
  mkdirSync(join(folder.path, name));
  for (const [file, content] of Object.entries(files)) {
    const isNames = typeof content !== 'string' && !(content instanceof Uint8Array);
    folder.write(join(name, file), isNames ? fileOf(content.map(tensorOf)) : content);
  }
  return join(folder.path, name);
}

/** Four bytes. */
export function tensorOf(name: string): TensorSpec {
  return { name, dtype: 'U8', shape: [4] };
}

/** The text of an index. */
export function indexOf(weightMap: Readonly<Record<string, string>>): string {
  return JSON.stringify({ metadata: { total_size: 1 }, weight_map: weightMap });
}

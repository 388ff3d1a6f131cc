// Owns what the server asks of a model, and that examples/llama answers it. Refuses to know how text is made.

import type { SafeTensorsModel } from 'safetensors-mmap';
import {
  type GeneratedToken,
  type GenerateOptions,
  type GenerationSummary,
  generate,
  loadModel,
} from '../llama/index.js';

/** One token after the other, and what to say of them all at the end. */
export type Generation = AsyncGenerator<GeneratedToken, GenerationSummary, undefined>;

/** A model that is open. */
export interface LoadedModel {
  /** The tensors of its files. */
  readonly weights: SafeTensorsModel;
  /** Continues a prompt. Ends with the signal's reason; the event loop has turns between the tokens. */
  generate(prompt: string, options: GenerateOptions): Generation;
  /** Closes the files. */
  close(): void;
}

/** Opens the model of a directory. */
export type Load = (directory: string) => Promise<LoadedModel>;

/** Opens a Llama or Qwen model. Rejects with what `loadModel` does. */
export const loadLlama: Load = async (directory) => {
  const model = await loadModel(directory);
  return {
    weights: model.weights,
    generate: (prompt, options) => generate(model, prompt, options),
    close: () => model.close(),
  };
};

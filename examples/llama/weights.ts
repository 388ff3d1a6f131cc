// Owns the model's tensors by their Hugging Face names: that they are there, and in the shape that the configuration says.
// Refuses to read any of them before they are used; the small vectors are then kept as float32.

import type { SafeTensorsModel, TensorView } from 'safetensors-mmap';
import type { LlamaConfig } from './config.js';
import { LlamaError, shown } from './errors.js';
import { changesLayers, EMBEDDING, OUTPUT, requiredShapes } from './names.js';

/** dtypes whose numbers are the weights themselves, without scales beside them. */
const PLAIN: readonly string[] = ['BF16', 'F16', 'F32', 'F64'];

/** The tensors of one model. */
export class Weights {
  readonly file: SafeTensorsModel;
  /** Name of the matrix that makes logits. */
  readonly output: string;
  readonly #kept = new Map<string, Float32Array>();

  /** Looks at the headers only. Throws TENSOR_NOT_FOUND, INVALID_CONFIG for a shape, UNSUPPORTED_MODEL for a dtype. */
  constructor(file: SafeTensorsModel, config: LlamaConfig) {
    this.file = file;
    // Files of a tied model may still hold an output matrix; transformers 5 ties only where it equals the embedding.
    this.output = config.tied && !file.has(OUTPUT) ? EMBEDDING : OUTPUT;
    this.#requireShape(this.output, [config.vocabulary, config.hidden]);
    const used = new Set<string>();
    for (const [name, shape] of requiredShapes(config)) {
      this.#requireShape(name, shape);
      used.add(name);
    }
    for (const name of file.keys()) if (changesLayers(name) && !used.has(name)) this.#refuse(name);
  }

  /** A tensor over the file; nothing is read. */
  matrix(name: string): TensorView {
    return this.file.tensor(name);
  }

  /** A vector as float32. */
  vector(name: string): Float32Array {
    let vector = this.#kept.get(name);
    if (vector === undefined) {
      vector = this.file.tensor(name).toFloat32Array();
      this.#kept.set(name, vector);
    }
    return vector;
  }

  /** The same where the model has it. */
  vectorIfAny(name: string): Float32Array | undefined {
    return this.#kept.get(name) ?? (this.file.has(name) ? this.vector(name) : undefined);
  }

  #refuse(name: string): never {
    const message = `tensor ${shown(name)} of ${shown(this.file.path)} has no place in what the configuration describes`;
    throw new LlamaError('INVALID_CONFIG', message);
  }

  #requireShape(name: string, wanted: readonly number[]): void {
    const { dtype, shape } = this.file.info(name);
    const about = `tensor ${shown(name)} of ${shown(this.file.path)}`;
    if (!PLAIN.includes(dtype)) {
      throw new LlamaError('UNSUPPORTED_MODEL', `${about} is ${dtype}; this example computes with ${PLAIN.join(', ')}`);
    }
    if (shape.join() !== wanted.join()) {
      const message = `${about} has the shape [${shape.join(', ')}]; by the configuration it is [${wanted.join(', ')}]`;
      throw new LlamaError('INVALID_CONFIG', message);
    }
  }
}

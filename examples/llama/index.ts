// Owns the list of what the example offers to a server or a demo. Refuses code of its own.

export type { KvCache } from './cache.js';
export type { LlamaConfig, RopeConfig } from './config.js';
export { LlamaError, type LlamaErrorCode } from './errors.js';
export { type GeneratedToken, type GenerateOptions, type GenerationSummary, generate } from './generate.js';
export { loadModel } from './load.js';
export type { ForwardOptions, LlamaModel } from './model.js';
export type { TextTokenizer } from './tokenizer.js';

// Owns the loop that writes: prompt in, one token after the other out, until an end. Refuses to outstay the context.

import { randomInt } from 'node:crypto';
import { LlamaError, shown } from './errors.js';
import type { LlamaModel } from './model.js';
import { choose, randomFrom, type Sampling } from './sampling.js';
import { nextTurn } from './turns.js';

/** How `generate` writes. */
export interface GenerateOptions {
  /** Most tokens to write. Default: until the text ends or the context is full. */
  readonly maxTokens?: number | undefined;
  /** 0, the default, always takes the likeliest token. */
  readonly temperature?: number | undefined;
  /** Draws among this many of the likeliest tokens. Default: among all. */
  readonly topK?: number | undefined;
  /** The same whole number gives the same text. Default: one at random, in the summary. */
  readonly seed?: number | undefined;
  /** Ends the generation, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** One token as it is written. */
export interface GeneratedToken {
  readonly token: number;
  /** What it adds to the text; '' while a character is incomplete. */
  readonly text: string;
}

/** What the generator returns at the end. */
export interface GenerationSummary {
  /** Tokens of the prompt. */
  readonly promptTokens: number;
  /** Tokens written, the one that ended the text not counted. */
  readonly tokens: number;
  /** The whole text, without the prompt: the pieces together. A character that is cut off at the end is left out. */
  readonly text: string;
  /** Why it ended: the model ended its text, `maxTokens` were written, or all positions are taken. */
  readonly reason: 'end' | 'length' | 'context';
  readonly seed: number;
}

/**
 * Continues a prompt. The event loop has at least one turn for each token. Throws INVALID_ARGUMENT, CONTEXT_FULL when the
 * prompt leaves no room, the signal's reason, and what `forward` rejects with.
 */
export async function* generate(
  model: LlamaModel,
  prompt: string,
  options: GenerateOptions = {},
): AsyncGenerator<GeneratedToken, GenerationSummary, undefined> {
  const seed = wholeNumber('seed', options.seed ?? randomInt(2 ** 32), 0, 2 ** 32 - 1);
  const sampling = samplingOf(model, options, seed);
  const { signal } = options;
  signal?.throwIfAborted();
  const before = promptOf(model, prompt);
  const room = model.config.positions - before.length;
  const most = wholeNumber('maxTokens', options.maxTokens ?? room, 1, Number.MAX_SAFE_INTEGER);
  const state = model.newState();
  const textOf = model.tokenizer.stream(before);
  let tokens = 0;
  let text = '';
  const summary = (reason: GenerationSummary['reason']) => {
    return { promptTokens: before.length, tokens, text, reason, seed };
  };

  let logits = await model.forward(state, before, { signal });
  for (;;) {
    const token = choose(logits, sampling);
    if (model.config.endTokens.includes(token)) return summary('end');
    const piece = textOf(token);
    tokens++;
    text += piece;
    yield { token, text: piece };
    if (tokens >= room) return summary('context');
    if (tokens >= most) return summary('length');
    await nextTurn();
    signal?.throwIfAborted();
    logits = await model.forward(state, [token], { signal });
  }
}

function samplingOf(model: LlamaModel, options: GenerateOptions, seed: number): Sampling {
  const temperature = options.temperature ?? 0;
  if (!Number.isFinite(temperature) || temperature < 0) {
    throw new LlamaError('INVALID_ARGUMENT', `temperature is ${shown(temperature)}; it is a number of 0 or more`);
  }
  const topK = wholeNumber('topK', options.topK ?? model.config.vocabulary, 1, Number.MAX_SAFE_INTEGER);
  return { temperature, topK, random: randomFrom(seed) };
}

function promptOf(model: LlamaModel, prompt: string): number[] {
  if (typeof prompt !== 'string')
    throw new LlamaError('INVALID_ARGUMENT', `the prompt is ${shown(prompt)}, not a string`);
  const tokens = model.tokenizer.encode(prompt);
  if (tokens.length === 0)
    throw new LlamaError('INVALID_ARGUMENT', 'the prompt has no tokens, and the model no mark of a beginning');
  const { positions } = model.config;
  if (tokens.length < positions) return tokens;
  throw new LlamaError(
    'CONTEXT_FULL',
    `the prompt has ${tokens.length} tokens; the model has ${positions} positions for it and the answer`,
  );
}

function wholeNumber(name: string, value: number, least: number, most: number): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new LlamaError('INVALID_ARGUMENT', `${name} is ${shown(value)}; it is a whole number from ${least} to ${most}`);
}

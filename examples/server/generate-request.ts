// Owns the body of POST /generate: its fields, their types and bounds. Refuses what it does not know, since a field that is
// misspelt and passed over is worse than an error.

import { DEFAULT_TOKENS, type Limits } from './limits.js';
import { Problem } from './problems.js';

/** What a client asks for. */
export interface GenerateRequest {
  /** A model's name; undefined for the first. */
  readonly model: string | undefined;
  readonly prompt: string;
  readonly maxTokens: number;
  readonly temperature: number;
  readonly topK: number | undefined;
  readonly seed: number | undefined;
}

const FIELDS: readonly string[] = ['model', 'prompt', 'maxTokens', 'temperature', 'topK', 'seed'];

/** Hotter than this, the model's choice does not matter any more. */
const HOTTEST = 5;

/** Reads a body. Throws a Problem, INVALID_REQUEST or PROMPT_TOO_LONG. */
export function readGenerateRequest(body: unknown, limits: Limits): GenerateRequest {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw invalid('the body is a JSON object');
  const fields = body as Readonly<Record<string, unknown>>;
  const unknown = Object.keys(fields).find((field) => !FIELDS.includes(field));
  if (unknown !== undefined) throw invalid(`there is no field ${shown(unknown)}; there are ${FIELDS.join(', ')}`);

  const { model, prompt, temperature = 0 } = fields;
  if (model !== undefined && typeof model !== 'string') throw invalid(`model is ${shown(model)}, not a string`);
  if (typeof prompt !== 'string') throw invalid(`prompt is ${shown(prompt)}, not a string`);
  if (prompt.length > limits.promptLength) {
    const message = `the prompt has ${prompt.length} characters; ${limits.promptLength} are allowed`;
    throw new Problem(400, 'PROMPT_TOO_LONG', message);
  }
  if (typeof temperature !== 'number' || !(temperature >= 0 && temperature <= HOTTEST)) {
    throw invalid(`temperature is ${shown(temperature)}, not a number from 0 to ${HOTTEST}`);
  }
  return {
    model,
    prompt,
    temperature,
    maxTokens: wholeNumber(fields, 'maxTokens', 1, limits.tokens) ?? DEFAULT_TOKENS,
    topK: wholeNumber(fields, 'topK', 1, Number.MAX_SAFE_INTEGER),
    seed: wholeNumber(fields, 'seed', 0, 2 ** 32 - 1),
  };
}

function wholeNumber(
  fields: Readonly<Record<string, unknown>>,
  name: string,
  least: number,
  most: number,
): number | undefined {
  const value = fields[name];
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value;
  throw invalid(`${name} is ${shown(value)}, not a whole number from ${least} to ${most}`);
}

/** As a message shows it. What is inside of an array or object is not: it may be nested too deep to be written. */
function shown(value: unknown): string {
  if (value === undefined) return 'missing';
  if (typeof value === 'number') return String(value);
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object';
  const text = JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

function invalid(message: string): Problem {
  return new Problem(400, 'INVALID_REQUEST', message);
}

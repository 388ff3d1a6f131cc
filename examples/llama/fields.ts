// Owns the reading of JSON from a model's directory: files into objects, objects into fields of the right type.
// Refuses to know what the fields mean.

import { readFile } from 'node:fs/promises';
import { LlamaError, shown } from './errors.js';

/** The fields of one JSON object; each question names the file in its error. Throws INVALID_CONFIG. */
export class Fields {
  readonly path: string;
  readonly #object: Readonly<Record<string, unknown>>;

  constructor(value: unknown, path: string) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new LlamaError('INVALID_CONFIG', `${shown(path)} should hold a JSON object, not ${shown(value)}`);
    }
    this.path = path;
    this.#object = value as Record<string, unknown>;
  }

  /** All of them. */
  get all(): Readonly<Record<string, unknown>> {
    return this.#object;
  }

  /** The value as it is; undefined where it is missing or null. */
  raw(name: string): unknown {
    return Object.hasOwn(this.#object, name) ? (this.#object[name] ?? undefined) : undefined;
  }

  /** A finite number above 0. */
  positive(name: string, fallback?: number): number {
    const value = this.raw(name) ?? fallback;
    if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value;
    throw this.#wrong(name, 'a number above 0', value);
  }

  /** A whole number from 1 to 2^31 - 1. */
  count(name: string, fallback?: number): number {
    const value = this.positive(name, fallback);
    if (Number.isInteger(value) && value < 2 ** 31) return value;
    throw this.#wrong(name, 'a whole number below 2^31', value);
  }

  flag(name: string, fallback: boolean): boolean {
    const value = this.raw(name) ?? fallback;
    if (typeof value === 'boolean') return value;
    throw this.#wrong(name, 'true or false', value);
  }

  text(name: string, fallback: string): string {
    const value = this.raw(name) ?? fallback;
    if (typeof value === 'string') return value;
    throw this.#wrong(name, 'a string', value);
  }

  /** An object within; undefined where it is missing. */
  within(name: string): Fields | undefined {
    const value = this.raw(name);
    return value === undefined ? undefined : new Fields(value, `${this.path}: ${name}`);
  }

  /** One token number or a list of them; an empty list where it is missing. */
  tokens(name: string): number[] {
    const value = this.raw(name) ?? [];
    const list: unknown[] = Array.isArray(value) ? value : [value];
    const isToken = (token: unknown) => Number.isInteger(token) && (token as number) >= 0;
    if (list.every(isToken)) return list as number[];
    throw this.#wrong(name, 'a token number or a list of them', value);
  }

  #wrong(name: string, wanted: string, value: unknown): LlamaError {
    const found = value === undefined ? 'it is missing' : `it is ${shown(value)}`;
    return new LlamaError('INVALID_CONFIG', `${shown(this.path)}: "${name}" should be ${wanted}; ${found}`);
  }
}

/** Reads a file of JSON. Rejects with Node's error where it cannot be read, and with INVALID_CONFIG. */
export async function readFields(path: string): Promise<Fields> {
  return new Fields(await readJson(path), path);
}

/** The same for a file that need not be there. */
export async function readFieldsIfAny(path: string): Promise<Fields> {
  try {
    return await readFields(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Fields({}, path);
    throw error;
  }
}

/** The value that a file of JSON holds. */
export async function readJson(path: string): Promise<unknown> {
  const text = await readFile(path, 'utf8');
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new LlamaError('INVALID_CONFIG', `${shown(path)} is not JSON`, { cause });
  }
}

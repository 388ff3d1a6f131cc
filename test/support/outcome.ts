// Owns the words for how a call ended: its value, or the code of its error.
// Refuses errors without a code: those are bugs, and pass through.

import { expect } from 'vitest';
import { SafeTensorsError } from '../../src/index.js';

/** What a call threw or rejected with. Fails when it did neither. */
export async function errorOf(run: () => unknown): Promise<Error & { code?: string }> {
  let value: unknown;
  try {
    value = await run();
  } catch (error) {
    if (error instanceof Error) return error;
    throw error;
  }
  return expect.fail(`expected an error, got ${String(value)}`);
}

/** The SafeTensorsError that a call ended with. Any other error passes through. */
export async function failureOf(run: () => unknown): Promise<SafeTensorsError> {
  const error = await errorOf(run);
  if (!(error instanceof SafeTensorsError)) throw error;
  return error;
}

/** The code that a call failed with, this library's or the system's; `ok` when it did not. */
export async function codeOf(run: () => unknown): Promise<string> {
  try {
    await run();
    return 'ok';
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (typeof code !== 'string') throw error;
    return code;
  }
}

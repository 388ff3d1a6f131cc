// Owns the exit codes and the one line that a failure prints.
// Refuses stack traces and raw text from files.

import { SafeTensorsError } from '../errors.js';
import { printable } from './terminal.js';

/** The process's exit codes; stable, for scripts. */
export const EXIT = {
  ok: 0,
  /** The file breaks a rule of the format. */
  format: 1,
  /** The command line is wrong. */
  usage: 2,
  /** The file, or the output, cannot be used: missing, forbidden, not a regular file, disk full. */
  unreadable: 3,
  /** A defect of this program. */
  internal: 70,
} as const;

export interface Failure {
  readonly exitCode: number;
  /** One printable line, ended with a newline. */
  readonly line: string;
}

/** What to print and return for anything thrown by a command. */
export function failureOf(error: unknown): Failure {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof SafeTensorsError) {
    const where = error.path === undefined || message.includes(error.path) ? '' : `${error.path}: `;
    return {
      exitCode: error.isFormatError ? EXIT.format : EXIT.unreadable,
      line: lineOf(`${where}${message} (${error.code})`),
    };
  }
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') {
    const text = message.includes(error.code) ? message : `${message} (${error.code})`;
    return { exitCode: EXIT.unreadable, line: lineOf(text) };
  }
  return { exitCode: EXIT.internal, line: lineOf(`unexpected failure, please report it: ${message}`) };
}

/** `safetensors: …` as one printable line. */
export function lineOf(text: string): string {
  return `safetensors: ${printable(text)}\n`;
}

// Owns the options of opening and their defaults. Refuses values that are none of the allowed.

import { quote, SafeTensorsError } from './errors.js';
import { MAX_HEADER_LENGTH } from './header.js';
import type { Protection } from './source.js';
import type { Misaligned } from './tensor.js';

/** How a file is opened. */
export interface OpenOptions {
  /**
   * `mmap` maps the file; `read` reads a tensor when it is first touched: for network disks, files that may be truncated
   * while open, and platforms without the addon. Default: the environment variable SAFETENSORS_BACKEND, else `mmap`,
   * and `read` with a warning where the addon cannot be used.
   */
  backend?: 'mmap' | 'read' | undefined;
  /** With `copy-on-write` (default) a write into a view stays in this process; with `read-only` it ends the process. */
  protection?: Protection | undefined;
  /**
   * A tensor whose address is no multiple of its element size: `copy` (default) copies that tensor, `view` hands out an
   * array over the file all the same (sound but for Atomics), `error` throws MISALIGNED.
   */
  misaligned?: Misaligned | undefined;
  /** Longest header, and longest index of a model, accepted, in bytes. Default: 100,000,000, the format's own limit. */
  maxHeaderLength?: number | undefined;
}

export interface ResolvedOptions {
  /** `auto`: map if that is possible. */
  readonly backend: 'mmap' | 'read' | 'auto';
  readonly protection: Protection;
  readonly misaligned: Misaligned;
  readonly maxHeaderLength: number;
}

/** Most that `maxHeaderLength` can be raised to: positions in a header are 32 bits wide. */
const MOST_HEADER_LENGTH = 2 ** 31 - 1;

/** Fills in the defaults. Throws INVALID_ARGUMENT. */
export function resolveOptions(options: OpenOptions | undefined): ResolvedOptions {
  if (options !== undefined && (typeof options !== 'object' || options === null)) {
    throw new SafeTensorsError(
      'INVALID_ARGUMENT',
      `options are an object, not ${options === null ? 'null' : typeof options}`,
    );
  }
  const { backend, protection, misaligned, maxHeaderLength = MAX_HEADER_LENGTH } = options ?? {};
  if (!Number.isInteger(maxHeaderLength) || maxHeaderLength < 0 || maxHeaderLength > MOST_HEADER_LENGTH) {
    throw new SafeTensorsError(
      'INVALID_ARGUMENT',
      `maxHeaderLength is an integer from 0 to ${MOST_HEADER_LENGTH}, not ${shown(maxHeaderLength)}`,
    );
  }
  return {
    backend: choice('backend', backend, ['mmap', 'read']) ?? backendOfEnvironment(),
    protection: choice('protection', protection, ['copy-on-write', 'read-only']) ?? 'copy-on-write',
    misaligned: choice('misaligned', misaligned, ['copy', 'view', 'error']) ?? 'copy',
    maxHeaderLength,
  };
}

function backendOfEnvironment(): 'mmap' | 'read' | 'auto' {
  const value = process.env.SAFETENSORS_BACKEND;
  return choice('SAFETENSORS_BACKEND', value === '' ? undefined : value, ['mmap', 'read']) ?? 'auto';
}

function choice<T extends string>(name: string, value: unknown, allowed: readonly T[]): T | undefined {
  if (value === undefined) return undefined;
  const found = allowed.find((candidate) => candidate === value);
  if (found !== undefined) return found;
  throw new SafeTensorsError(
    'INVALID_ARGUMENT',
    `${name} is one of ${allowed.map(quote).join(', ')}, not ${shown(value)}`,
  );
}

/** A value of any type; not every object has a text. */
function shown(value: unknown): string {
  if (typeof value === 'string') return quote(value);
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}

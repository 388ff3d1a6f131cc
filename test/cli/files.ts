// Owns small safetensors files for the command's tests: written byte by byte, so that they may also be wrong.
// Refuses to check what it writes; the data is zeros.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bitsOf, type Dtype } from '../../src/dtype.js';

export interface TensorSpec {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: readonly number[];
}

/** A whole file: tensors in the order given, back to back, the header padded to a multiple of `pad` bytes. */
export function fileOf(
  tensors: readonly TensorSpec[],
  options: { readonly metadata?: Readonly<Record<string, string>>; readonly pad?: number } = {},
): Buffer {
  const { metadata, pad = 8 } = options;
  const fields: string[] = metadata === undefined ? [] : [`"__metadata__":${JSON.stringify(metadata)}`];
  let end = 0;
  for (const { name, dtype, shape } of tensors) {
    const begin = end;
    end += (shape.reduce((product, dimension) => product * dimension, 1) * bitsOf(dtype)) / 8;
    fields.push(`${JSON.stringify(name)}:${JSON.stringify({ dtype, shape, data_offsets: [begin, end] })}`);
  }
  return withHeader(`{${fields.join(',')}}`, Buffer.alloc(end), pad);
}

/** A file with this header, whatever it says. */
export function withHeader(json: string, data: Uint8Array, pad = 1): Buffer {
  const text = Buffer.from(json);
  const padding = Buffer.alloc((pad - (text.length % pad)) % pad, ' ');
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length + padding.length));
  return Buffer.concat([length, text, padding, data]);
}

/** A directory of its own for a test file, with a way to fill it and to remove it. */
export function scratch(): {
  path: string;
  write: (name: string, bytes: string | Uint8Array) => string;
  remove: () => void;
} {
  const path = mkdtempSync(join(tmpdir(), 'safetensors-cli-'));
  return {
    path,
    write: (name, bytes) => {
      const file = join(path, name);
      writeFileSync(file, bytes);
      return file;
    },
    remove: () => rmSync(path, { recursive: true, force: true }),
  };
}

/** Every character that a terminal could act on, or that hides or reorders what is seen. */
export const UNSAFE = /(?!\n)[\p{Cc}\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/u;

// Owns small safetensors files for the reader's tests, written byte by byte so that they may also be wrong.
// Refuses to check what it writes. The data counts up, so that a byte tells its place.

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { bitsOf, type Dtype } from '../../src/dtype.js';

export interface TensorSpec {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: readonly number[];
}

export interface FileOptions {
  readonly metadata?: Readonly<Record<string, string>>;
  /** Where the data starts, modulo 8: 0 for a padded header. */
  readonly shift?: number;
}

/** A whole file: tensors in the order given, back to back, in memory of its own. */
export function fileOf(tensors: readonly TensorSpec[], options: FileOptions = {}): Uint8Array<ArrayBuffer> {
  const { metadata, shift = 0 } = options;
  const fields = metadata === undefined ? [] : [`"__metadata__":${JSON.stringify(metadata)}`];
  let end = 0;
  for (const { name, dtype, shape } of tensors) {
    const begin = end;
    end += (shape.reduce((product, size) => product * size, 1) * bitsOf(dtype)) / 8;
    fields.push(`${JSON.stringify(name)}:${JSON.stringify({ dtype, shape, data_offsets: [begin, end] })}`);
  }
  const text = Buffer.from(`{${fields.join(',')}}`);
  const padding = (((shift - text.length) % 8) + 8) % 8;
  return withHeader(Buffer.concat([text, Buffer.alloc(padding, ' ')]), counting(end));
}

/** A file with this header, whatever it says. */
export function withHeader(header: string | Uint8Array, data: Uint8Array = new Uint8Array(0)): Uint8Array<ArrayBuffer> {
  const text = Buffer.from(header);
  const file = new Uint8Array(8 + text.length + data.length);
  new DataView(file.buffer).setBigUint64(0, BigInt(text.length), true);
  file.set(text, 8);
  file.set(data, 8 + text.length);
  return file;
}

/** The bytes 1, 2, 3 … 251, 1, 2 …: never 0, and of a period that is prime. */
export function counting(length: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length }, (_, index) => (index % 251) + 1);
}

export interface Scratch {
  readonly path: string;
  /** Writes a file, and the folders above it; returns its path. */
  write(name: string, bytes: string | Uint8Array): string;
  remove(): void;
}

/** A directory of its own for a test file. */
export function scratch(): Scratch {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'safetensors-test-')));
  return {
    path,
    write: (name, bytes) => {
      const file = join(path, name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, bytes);
      return file;
    },
    remove: () => rmSync(path, { recursive: true, force: true }),
  };
}

/** Makes a named pipe; returns its path. */
export function makeFifo(path: string): string {
  execFileSync('mkfifo', [path]);
  return path;
}

/** Files below a directory that this process holds open, once for each descriptor. Empty where there is no /proc. */
export function descriptorsIn(directory: string): string[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${descriptor}`);
      return target.startsWith(`${directory}/`) ? [target] : [];
    } catch {
      return []; // the descriptor of the listing itself
    }
  });
}

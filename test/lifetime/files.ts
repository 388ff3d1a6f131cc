// Owns the files that the lifetime tests map, made without the library under test.

import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs';

export interface Entry {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly byteLength: number;
}

/** Writes a file of these tensors, in this order; the data is a hole, which reads as zeros and takes no room. */
export function writeSparse(path: string, tensors: Readonly<Record<string, Entry>>): void {
  const header: Record<string, unknown> = {};
  let end = 0;
  for (const [name, { dtype, shape, byteLength }] of Object.entries(tensors)) {
    header[name] = { dtype, shape, data_offsets: [end, end + byteLength] };
    end += byteLength;
  }
  const text = JSON.stringify(header);
  const bytes = Buffer.from(text.padEnd(Math.ceil(text.length / 8) * 8));
  const prefix = Buffer.alloc(8);
  prefix.writeBigUInt64LE(BigInt(bytes.length));
  const descriptor = openSync(path, 'w');
  writeSync(descriptor, prefix);
  writeSync(descriptor, bytes);
  ftruncateSync(descriptor, 8 + bytes.length + end);
  closeSync(descriptor);
}

/** F32 tensors of equal size, "t0", "t1" …, that hold zeros. */
export function floats(count: number, elements: number): Record<string, Entry> {
  return Object.fromEntries(
    Array.from({ length: count }, (_, i) => [`t${i}`, { dtype: 'F32', shape: [elements], byteLength: elements * 4 }]),
  );
}

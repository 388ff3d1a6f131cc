// Owns the second look at an entry whose numbers a double cannot hold: the same numbers as big integers.
// Refuses nothing; the entry has been scanned already.

import { Buffer } from 'node:buffer';

import { decodeString, skipValue, walkObject } from './json.js';

/** The numbers of one entry without rounding, read again from its first byte; undefined without one. */
export function exactNumbers(
  bytes: Uint8Array,
  entry: number | undefined,
): { shape: bigint[]; end: bigint } | undefined {
  if (entry === undefined) return undefined;
  let shape: bigint[] = [];
  let end = 0n;
  walkObject(bytes, entry, (keyBegin, keyEnd, value) => {
    const key = decodeString(bytes, keyBegin, keyEnd);
    if (key === 'shape') shape = integersAt(bytes, value);
    if (key === 'data_offsets') end = integersAt(bytes, value)[1]!;
    return skipValue(bytes, value, 2);
  });
  return { shape, end };
}

/** Items of an array that is known to hold plain integers. */
function integersAt(bytes: Uint8Array, position: number): bigint[] {
  const end = skipValue(bytes, position, 2);
  const text = Buffer.from(bytes.subarray(position + 1, end - 1))
    .toString('latin1')
    .trim();
  return text === '' ? [] : text.split(',').map((item) => BigInt(item.trim()));
}

// Owns the reading of fixtures/float32_table.bin.gz: what NumPy and ml_dtypes make of each number dtype as float32.
// The layout is described in fixtures/make_float32_table.py; no value is computed here.
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { bitsOf, type Dtype } from '../src/dtype.js';

export interface Float32Case {
  readonly dtype: Dtype;
  readonly count: number;
  /** The elements as a file holds them: little-endian, packed low bits first. */
  readonly bytes: Uint8Array;
  /** The float32 bits of each element. */
  readonly expected: Uint32Array;
}

/** Every case of the table: all patterns of the dtypes up to 16 bits, chosen ones of the wider. */
export function readFloat32Table(): Float32Case[] {
  const file = gunzipSync(readFileSync(new URL('./fixtures/float32_table.bin.gz', import.meta.url)));
  const cases: Float32Case[] = [];
  let at = 0;
  while (at < file.byteLength) {
    const dtype = file.toString('latin1', at, at + 12).replaceAll('\0', '') as Dtype;
    const width = file.readUInt32LE(at + 12);
    const count = file.readUInt32LE(at + 16);
    at += 20;
    // A copy of its own, so that it starts aligned.
    const bytes =
      width === 0 ? packPatterns(count, bitsOf(dtype)) : Uint8Array.from(file.subarray(at, at + count * width));
    at += count * width;
    const expected = new Uint32Array(count);
    for (let plane = 0; plane < 4; plane++) {
      for (let i = 0; i < count; i++) expected[i]! += file[at++]! * 2 ** (8 * plane);
    }
    cases.push({ dtype, count, bytes, expected });
  }
  return cases;
}

/** The patterns 0, 1, 2 … count - 1, bit by bit. */
function packPatterns(count: number, bits: number): Uint8Array {
  const packed = new Uint8Array(Math.ceil((count * bits) / 8));
  for (let bit = 0; bit < count * bits; bit++) {
    const pattern = Math.floor(bit / bits);
    if ((pattern >> (bit % bits)) & 1) packed[bit >> 3]! |= 1 << (bit & 7);
  }
  return packed;
}

// Owns the reading of fixtures/slice_cases.json.gz, and the plainest way to pick elements out of bytes.
// Refuses to know a rule of slicing: the answers are numpy's, made by fixtures/make_slice_cases.py.
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { Dtype } from '../../src/dtype.js';
import type { SliceIndex } from '../../src/indexing.js';

/** A shape and the position of each element in the tensor in C order, or the code of an error. */
export type Answer = [shape: number[], flat: number[]] | 'INVALID_SLICE' | 'SUB_BYTE_MISALIGNED';
export type SliceCase = [
  dtype: Dtype,
  shape: number[],
  first: SliceIndex[],
  second: SliceIndex[] | null,
  answer: Answer,
];
export type ShardCase = [
  Dtype,
  shape: number[],
  dim: number,
  rank: number,
  of: number,
  uneven: boolean,
  answer: Answer,
];

const file = new URL('../fixtures/slice_cases.json.gz', import.meta.url);

/** All cases; a slice with a second list of indices is a slice of a slice. */
export function readSliceCases(): { slices: SliceCase[]; shards: ShardCase[] } {
  return JSON.parse(gunzipSync(readFileSync(file)).toString());
}

/** The elements at `flat`, bit by bit: low bits first, as packed dtypes lie in the file. */
export function pickBits(source: Uint8Array, bits: number, flat: readonly number[]): Uint8Array {
  const result = new Uint8Array((flat.length * bits) / 8);
  flat.forEach((element, i) => {
    for (let bit = 0; bit < bits; bit++) {
      const from = element * bits + bit;
      const to = i * bits + bit;
      result[to >> 3]! |= ((source[from >> 3]! >> (from & 7)) & 1) << (to & 7);
    }
  });
  return result;
}

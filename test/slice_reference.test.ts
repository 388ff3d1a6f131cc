// Holds slices and shards against numpy's answers in fixtures/slice_cases.json.gz, values and errors.
// The cases are made by fixtures/make_slice_cases.py; nothing here knows the rules.
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { bitsOf, type Dtype } from '../src/dtype.js';
import { SafeTensorsError } from '../src/errors.js';
import { gatherBytes } from '../src/gathering.js';
import { type SliceIndex, shardRegion, sliceRegion } from '../src/indexing.js';
import { elementCount, gatherPlan, isContiguous, type Region, wholeRegion } from '../src/region.js';

type Answer = [shape: number[], flat: number[]] | 'INVALID_SLICE' | 'SUB_BYTE_MISALIGNED';
type SliceCase = [dtype: Dtype, shape: number[], first: SliceIndex[], second: SliceIndex[] | null, answer: Answer];
type ShardCase = [Dtype, shape: number[], dim: number, rank: number, of: number, uneven: boolean, answer: Answer];

const cases = JSON.parse(gunzipSync(readFileSync(new URL('fixtures/slice_cases.json.gz', import.meta.url))).toString());
const slices: SliceCase[] = cases.slices;
const shards: ShardCase[] = cases.shards;

const noise = Uint8Array.from({ length: 4096 }, (_, i) => (Math.imul(i + 1, 0x9e3779b1) >>> 13) & 0xff);

function tensorBytes(dtype: Dtype, shape: number[]): Uint8Array {
  const elements = shape.reduce((product, size) => product * size, 1);
  return noise.subarray(0, (elements * bitsOf(dtype)) / 8);
}

/** The elements at `flat`, bit by bit: low bits first, as packed dtypes lie in the file. */
function pickBits(source: Uint8Array, bits: number, flat: number[]): Uint8Array {
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

interface Outcome {
  answer: [shape: readonly number[], bytes: Uint8Array] | string;
  region?: Region;
}

function run(dtype: Dtype, shape: number[], select: (whole: Region) => Region): Outcome {
  try {
    const region = select(wholeRegion(shape));
    const plan = gatherPlan(region, dtype);
    const bytes = new Uint8Array(plan.byteLength);
    // Only the bytes that the plan says it touches: a run outside them would be refused.
    const touched = tensorBytes(dtype, shape).subarray(plan.minByte, plan.maxByte);
    gatherBytes(touched, { ...plan, offset: plan.offset - plan.minByte }, bytes);
    return { answer: [region.shape, bytes], region };
  } catch (error) {
    if (!(error instanceof SafeTensorsError)) throw error;
    return { answer: error.code };
  }
}

function expected(dtype: Dtype, shape: number[], answer: Answer): Outcome['answer'] {
  if (typeof answer === 'string') return answer;
  return [answer[0], pickBits(tensorBytes(dtype, shape), bitsOf(dtype), answer[1])];
}

/** Text in place of deep equality, which would take most of the time of this file. */
function inText(answer: Outcome['answer']): string {
  return typeof answer === 'string' ? answer : `${JSON.stringify(answer[0])} ${Buffer.from(answer[1]).toString('hex')}`;
}

describe('numpy as the reference', () => {
  it('has enough cases of each kind', () => {
    const kinds = slices.map(([, , , , answer]) => (typeof answer === 'string' ? answer : 'values'));
    expect(slices.length).toBeGreaterThanOrEqual(9000);
    expect(kinds.filter((kind) => kind === 'INVALID_SLICE').length).toBeGreaterThan(1000);
    expect(kinds.filter((kind) => kind === 'SUB_BYTE_MISALIGNED').length).toBeGreaterThan(100);
    expect(slices.filter(([, , , second]) => second !== null).length).toBeGreaterThan(2000);
  });

  it('gives the same values and errors for every slice and slice of a slice', () => {
    const wrong: unknown[] = [];
    for (const one of slices) {
      const [dtype, shape, first, second, answer] = one;
      const { answer: got } = run(dtype, shape, (whole) => {
        const region = sliceRegion(whole, first);
        return second === null ? region : sliceRegion(region, second);
      });
      if (inText(got) !== inText(expected(dtype, shape, answer))) wrong.push({ one, got });
    }
    expect(wrong).toEqual([]);
  });

  it('gives the same parts and errors for every shard', () => {
    const wrong: unknown[] = [];
    for (const one of shards) {
      const [dtype, shape, dim, rank, of, uneven, answer] = one;
      const { answer: got } = run(dtype, shape, (whole) => shardRegion(whole, { dim, rank, of, uneven }));
      if (inText(got) !== inText(expected(dtype, shape, answer))) wrong.push({ one, got });
    }
    expect(wrong).toEqual([]);
  });

  it('calls a region contiguous exactly when its elements are consecutive', () => {
    for (const [dtype, shape, first, second, answer] of slices) {
      if (typeof answer === 'string') continue;
      const { region } = run(dtype, shape, (whole) => sliceRegion(sliceRegion(whole, first), second ?? []));
      const consecutive = answer[1].every((element, i) => i === 0 || element === answer[1][i - 1]! + 1);
      if (region === undefined) throw new Error('a case with values must have a region');
      if (isContiguous(region) !== consecutive) expect.fail(JSON.stringify([shape, first, second]));
      if (elementCount(region) !== answer[1].length) expect.fail(JSON.stringify([shape, first, second]));
      if (consecutive !== (gatherPlan(region, dtype).counts.length === 0)) {
        expect.fail(JSON.stringify([shape, first, second]));
      }
    }
  });
});

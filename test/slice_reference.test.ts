// Holds slices and shards against numpy's answers in fixtures/slice_cases.json.gz, values and errors.
// The cases are made by fixtures/make_slice_cases.py; nothing here knows the rules.
import { describe, expect, it } from 'vitest';
import { bitsOf, type Dtype } from '../src/dtype.js';
import { SafeTensorsError } from '../src/errors.js';
import { gatherBytes } from '../src/gathering.js';
import { shardRegion, sliceRegion } from '../src/indexing.js';
import { elementCount, gatherPlan, isContiguous, type Region, wholeRegion } from '../src/region.js';
import { type Answer, pickBits, readSliceCases } from './support/slice_cases.js';

const { slices, shards } = readSliceCases();

const noise = Uint8Array.from({ length: 4096 }, (_, i) => (Math.imul(i + 1, 0x9e3779b1) >>> 13) & 0xff);

function tensorBytes(dtype: Dtype, shape: number[]): Uint8Array {
  const elements = shape.reduce((product, size) => product * size, 1);
  return noise.subarray(0, (elements * bitsOf(dtype)) / 8);
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

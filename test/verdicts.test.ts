// Owns the comparison of verdicts: hostile files, accepted or refused as the Python reference does, except where said.
// Refuses to test the wording of errors; which code a rule has is tested beside the rule.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse, SafeTensorsError } from '../src/index.js';

type Reading = Record<string, [dtype: string, shape: number[]]>;

interface Case {
  readonly what: string;
  /** A Buffer, whose methods are not all those of the Uint8Array that it is. */
  readonly file: Buffer;
  /** What the reference reads, or a word for its refusal. */
  readonly reference: Reading | string;
}

const { cases: rows } = JSON.parse(readFileSync(new URL('./fixtures/verdicts.json', import.meta.url), 'utf8')) as {
  cases: [what: string, hex: string, verdict: Reading | string][];
};
const cases: Case[] = rows.map(([what, hex, reference]) => ({ what, file: Buffer.from(hex, 'hex'), reference }));

type Verdict = Map<string, [string, readonly number[]]> | string;

/** What the library reads, or the code of its refusal; anything else that it throws is a bug. */
function verdict(file: Buffer): Verdict {
  try {
    using opened = parse(file);
    return new Map([...opened.entries()].map(([name, tensor]) => [name, [tensor.dtype, tensor.shape]]));
  } catch (error) {
    if (!(error instanceof SafeTensorsError)) throw error;
    expect(error.isFormatError, error.message).toBe(true);
    return error.code;
  }
}

const verdicts = new Map<Case, Verdict>();

function verdictOf(one: Case): Verdict {
  const found = verdicts.get(one) ?? verdict(Buffer.from(one.file));
  verdicts.set(one, found);
  return found;
}

function headerText(file: Buffer): string {
  return file.toString('utf8', 8, 8 + Number(file.readBigUInt64LE(0)));
}

/** Keys in a tree that JSON.parse made, where a key written twice is one. */
function countKeys(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce((sum: number, inner) => sum + countKeys(inner), own);
}

function entries(text: string): unknown[] {
  const header = JSON.parse(text) as Record<string, unknown>;
  return Object.keys(header)
    .filter((name) => name !== '__metadata__')
    .map((name) => header[name]);
}

interface Difference {
  readonly why: string;
  readonly code: string;
  /** Read from the header's text by other means than the library's. */
  readonly holds: (text: string) => boolean;
}

// All in one direction: the reference accepts, this library refuses.
const DIFFERENCES: Record<string, Difference> = {
  'a key twice': {
    why: 'the format forbids it, and two readers must not see two files',
    code: 'DUPLICATE_KEY',
    holds: (text) => (text.match(/"(?:[^"\\]|\\.)*"\s*:/gs)?.length ?? 0) > countKeys(JSON.parse(text)),
  },
  'an entry as a positional array': {
    why: 'an artefact of the reference’s JSON library, not in the format',
    code: 'INVALID_TENSOR_INFO',
    holds: (text) => entries(text).some(Array.isArray),
  },
  'a dtype as an object': {
    why: 'an artefact of the reference’s JSON library, not in the format',
    code: 'INVALID_TENSOR_INFO',
    holds: (text) => entries(text).some((entry) => typeof (entry as { dtype: unknown }).dtype === 'object'),
  },
  'a dimension over 2^53 - 1 beside a 0': {
    why: 'no such shape is real, and a JavaScript number cannot hold it',
    code: 'SIZE_OVERFLOW',
    holds: (text) =>
      entries(text).some((entry) => {
        const { shape } = entry as { shape: number[] };
        return shape.includes(0) && shape.some((size) => size > Number.MAX_SAFE_INTEGER);
      }),
  },
};

function differenceOf({ file, reference }: Case, code: string): string | undefined {
  if (typeof reference === 'string') return undefined;
  return Object.keys(DIFFERENCES).find((name) => {
    const difference = DIFFERENCES[name]!;
    return difference.code === code && difference.holds(headerText(file));
  });
}

/** Codes that answer each of the reference's refusals, where the two divide the rules alike. */
const ANSWERS: Record<string, readonly string[]> = {
  small: ['HEADER_TOO_SMALL'],
  large: ['HEADER_TOO_LARGE'],
  length: ['INVALID_HEADER_LENGTH'],
  'utf-8': ['INVALID_HEADER_UTF8'],
  cover: ['TRUNCATED_DATA', 'TRAILING_DATA'],
};

describe('verdicts of the reference', () => {
  const groups = [...new Set(cases.map(({ what }) => what.slice(0, what.indexOf(':'))))];

  it('has cases of both kinds', () => {
    expect(cases.length).toBeGreaterThanOrEqual(1000);
    expect(cases.filter(({ reference }) => typeof reference !== 'string').length).toBeGreaterThanOrEqual(250);
    expect(groups).toHaveLength(13);
  });

  it.each(groups)('%s', (group) => {
    const disagreements: string[] = [];
    for (const one of cases.filter(({ what }) => what.startsWith(`${group}:`))) {
      const { what, reference } = one;
      const ours = verdictOf(one);
      if (typeof ours === 'string') {
        const answers = typeof reference === 'string' ? (ANSWERS[reference] ?? [ours]) : [];
        const agreed = answers.includes(ours) || differenceOf(one, ours) !== undefined;
        if (!agreed) disagreements.push(`${what}: ${ours}, the reference says ${JSON.stringify(reference)}`);
      } else if (typeof reference === 'string') {
        disagreements.push(`${what}: accepted, the reference says ${reference}`);
      } else {
        expect(ours, what).toEqual(new Map(Object.entries(reference)));
      }
    }
    expect(disagreements).toEqual([]);
  });

  it('leaves the caller’s bytes as they are, accepted or not', () => {
    const changed = cases.filter(({ file }) => {
      const copy = Buffer.from(file);
      verdict(copy);
      return !copy.equals(file);
    });
    expect(changed.map(({ what }) => what)).toEqual([]);
  });

  it.each(Object.keys(DIFFERENCES))('differs on purpose: %s', (name) => {
    const found = cases.filter((one) => {
      const ours = verdictOf(one);
      return typeof ours === 'string' && differenceOf(one, ours) === name;
    });
    expect(found.length, DIFFERENCES[name]!.why).toBeGreaterThan(0);
  });
});

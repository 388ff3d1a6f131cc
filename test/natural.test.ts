// Owns the natural order of names against a twin that compares piece by piece.
// Refuses locales, as the order itself does.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareNatural, compareUnits, naturalKey } from '../src/natural.js';

/** Runs of digits as numbers, everything else unit by unit; then the plain order. */
function compareTwin(a: string, b: string): number {
  const pieces = (text: string) => text.match(/[0-9]+|[^0-9]/g) ?? [];
  const left = pieces(a);
  const right = pieces(b);
  for (let k = 0; k < Math.min(left.length, right.length); k++) {
    const [x, y] = [left[k]!, right[k]!];
    const bothDigits = /^[0-9]/.test(x) && /^[0-9]/.test(y);
    if (bothDigits && BigInt(x) !== BigInt(y)) return BigInt(x) < BigInt(y) ? -1 : 1;
    // A run of digits stands where the digit 0 would.
    const [from, to] = [x, y].map((piece) => (/^[0-9]/.test(piece) ? '0' : piece));
    if (from !== to) return from! < to! ? -1 : 1;
  }
  if (left.length !== right.length) return left.length < right.length ? -1 : 1;
  return compareUnits(a, b);
}

const name = fc.oneof(
  fc.string({ unit: fc.constantFrom('0', '1', '2', '9', 'a', 'b', '.', '-', '/', ':') }),
  fc.string({ unit: 'binary' }),
  fc.tuple(fc.string(), fc.nat(), fc.string()).map(([before, number, after]) => `${before}${number}${after}`),
);

describe('compareNatural', () => {
  it('sorts layers and shards as people count', () => {
    const sorted = [
      'layers.0.weight',
      'layers.1.bias',
      'layers.1.weight',
      'layers.2.weight',
      'layers.10.weight',
      'layers.100.weight',
      'model-00001-of-00010.safetensors',
      'model-00002-of-00010.safetensors',
      'model-00010-of-00010.safetensors',
      'model-a.safetensors',
    ];
    expect([...sorted].reverse().sort(compareNatural)).toEqual(sorted);
  });

  it.each([
    ['a2', 'a10'],
    ['a', 'a0'],
    ['a09', 'a10'],
    ['a01', 'a1'],
    ['a1', 'a01b'],
    ['2', '10'],
    ['a.b', 'a0'],
    ['a9', 'aa'],
    ['Z', 'a'],
    [`a${'9'.repeat(60_000)}`, `a${'1'.repeat(70_000)}`],
    [`a${'9'.repeat(70_000)}`, `a1${'0'.repeat(70_000)}`],
  ])('%j stands before %j', (a, b) => {
    expect(compareNatural(a, b)).toBeLessThan(0);
    expect(compareNatural(b, a)).toBeGreaterThan(0);
  });

  it('agrees with the twin', () => {
    fc.assert(
      fc.property(name, name, (a, b) => {
        expect(Math.sign(compareNatural(a, b))).toBe(compareTwin(a, b));
      }),
      { numRuns: 1000 },
    );
  });

  it('is a total order: equal for equal names only, the same both ways round, transitive', () => {
    fc.assert(
      fc.property(name, name, name, (a, b, c) => {
        expect(compareNatural(a, b) === 0).toBe(a === b);
        expect(Math.sign(compareNatural(a, b)) + Math.sign(compareNatural(b, a))).toBe(0);
        const [x, y, z] = [a, b, c].sort(compareNatural) as [string, string, string];
        expect(compareNatural(x, y)).toBeLessThanOrEqual(0);
        expect(compareNatural(y, z)).toBeLessThanOrEqual(0);
        expect(compareNatural(x, z)).toBeLessThanOrEqual(0);
      }),
      { numRuns: 500 },
    );
  });
});

describe('naturalKey', () => {
  it('is shared by names that differ in leading zeros only', () => {
    expect(naturalKey('a007.b0')).toBe(naturalKey('a7.b00'));
    expect(naturalKey('a')).toBe('a');
  });
});

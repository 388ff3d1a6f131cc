// Owns what is promised of the orders of a listing.
// Refuses files: rows are made up here.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Row } from '../../src/cli/collect.js';
import { sortRows } from '../../src/cli/order.js';

// Few characters, so that runs of digits and near equal names are common.
const name = fc.string({ unit: fc.constantFrom('0', '1', '9', '.', 'a', 'B', '日'), maxLength: 8 });

const row = (text: string, begin: number, end: number): Row => ({
  name: text,
  info: { dtype: 'U8', shape: [end - begin], data_offsets: [begin, end] },
  shard: undefined,
});
const names = (rows: readonly Row[]) => rows.map((each) => each.name);

/** The order of two names as the sort shows it; the sort is stable, so equal ones would come as they are. */
function compareNatural(a: string, b: string): number {
  if (a === b) return 0;
  return names(sortRows([row(a, 0, 0), row(b, 0, 0)], 'name'))[0] === a ? -1 : 1;
}

describe('the natural order', () => {
  it('reads digits as numbers', () => {
    const sorted = [
      '',
      'a',
      'layers.0',
      'layers.2',
      'layers.10',
      'layers.10.b',
      'layers.100',
      'layers.b',
      'x1',
      'x01',
      'x2',
    ];
    expect([...sorted].reverse().sort(compareNatural)).toEqual([
      '',
      'a',
      'layers.0',
      'layers.2',
      'layers.10',
      'layers.10.b',
      'layers.100',
      'layers.b',
      'x01',
      'x1',
      'x2',
    ]);
  });

  it('compares numbers beyond what a double holds', () => {
    expect(compareNatural(`a${'9'.repeat(30)}`, `a1${'0'.repeat(30)}`)).toBe(-1);
    expect(compareNatural(`a${'9'.repeat(70_000)}`, `a1${'0'.repeat(70_000)}`)).toBe(-1);
  });

  it('is a total order: antisymmetric and transitive, also where names differ in leading zeros alone', () => {
    fc.assert(
      fc.property(name, name, name, (a, b, c) => {
        expect(compareNatural(a, b)).toBe(-compareNatural(b, a) || 0);
        if (compareNatural(a, b) < 0 && compareNatural(b, c) < 0) expect(compareNatural(a, c)).toBe(-1);
      }),
    );
  });

  it('orders integers after a prefix as integers', () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), (a, b) => {
        expect(compareNatural(`p.${a}.w`, `p.${b}.w`)).toBe(Math.sign(a - b));
      }),
    );
  });
});

describe('sortRows', () => {
  const rows = [row('b10', 0, 4), row('b2', 4, 8), row('a', 8, 9)];

  it('sorts by name naturally, by offset as in the file, by size with the largest first and names as ties', () => {
    expect(names(sortRows(rows, 'name'))).toEqual(['a', 'b2', 'b10']);
    expect(names(sortRows(rows, 'offset'))).toEqual(['b10', 'b2', 'a']);
    expect(names(sortRows(rows, 'size'))).toEqual(['b2', 'b10', 'a']);
  });

  it('does not depend on the order in which the rows come', () => {
    fc.assert(
      fc.property(fc.uniqueArray(name), (texts) => {
        const made = texts.map((text) => row(text, 0, text.length));
        for (const by of ['name', 'size'] as const) {
          expect(names(sortRows(made.toReversed(), by))).toEqual(names(sortRows(made, by)));
        }
      }),
    );
  });
});

// Owns what is promised of text on a terminal: no unprintable character, honest widths, straight tables.
// Refuses child processes; the same on a real terminal is in main.test.ts.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Column,
  grouped,
  label,
  MAX_COLUMN_WIDTH,
  paintFor,
  printable,
  printableJson,
  table,
  widthOf,
} from '../../src/cli/terminal.js';
import { UNSAFE } from './files.js';

const plain = paintFor({}, {});

describe('printable', () => {
  it.each([
    ['model.layers.0.weight', 'model.layers.0.weight'],
    ['naïve 日本 🤗 \\', 'naïve 日本 🤗 \\'],
    ['a\nb\r\tc', 'a\\nb\\r\\tc'],
    ['\u001b[31mred\u001b]0;title\u0007', '\\u001b[31mred\\u001b]0;title\\u0007'],
    ['\u009b2J\u007f\u0000', '\\u009b2J\\u007f\\u0000'],
    ['\u202egnp.exe\u2066\u200f', '\\u202egnp.exe\\u2066\\u200f'],
    ['\u2028\u2029\u200b\ufeff', '\\u2028\\u2029\\u200b\\ufeff'],
    ['\u{e0001}', '\\u{e0001}'],
    ['\ud800', '\\ud800'],
  ])('%j', (text, expected) => {
    expect(printable(text)).toBe(expected);
  });

  it('leaves nothing that a terminal acts on, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(printable(text)).not.toMatch(UNSAFE);
        expect(printable(text)).not.toContain('\n');
      }),
    );
  });
});

describe('label', () => {
  it.each([
    ['weight', 'weight'],
    ['', '""'],
    [' ', '" "'],
    ['a\u00a0', '"a\u00a0"'],
    ['\ta', '\\ta'],
  ])('%j', (name, expected) => {
    expect(label(name)).toBe(expected);
  });
});

describe('printableJson', () => {
  it('keeps the value exactly and is safe to print, indented or not', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' })), (value) => {
        for (const indent of [undefined, 2]) {
          const text = printableJson(JSON.stringify(value, null, indent));
          expect(text).not.toMatch(UNSAFE);
          expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
        }
      }),
    );
  });

  it('does not mistake an escape spelled out in a value', () => {
    const value = ['\\u000a', '\\\n', '\u{e0001}\u009b'];
    expect(JSON.parse(printableJson(JSON.stringify(value, null, 2)))).toEqual(value);
  });
});

describe('widthOf', () => {
  it.each([
    ['', 0],
    ['weight', 6],
    ['café', 4],
    ['cafe\u0301', 4],
    ['日本語', 6],
    ['한국', 4],
    ['ｆｕｌｌ', 8],
    ['ﾊﾝｶｸ', 4],
    ['🤗', 2],
    ['🇨🇭', 2],
    ['→', 1],
  ])('%j is %i columns', (text, width) => {
    expect(widthOf(text)).toBe(width);
  });
});

describe('grouped', () => {
  it.each([
    [0, '0'],
    [999, '999'],
    [1000, '1,000'],
    [1239748, '1,239,748'],
    [Number.MAX_SAFE_INTEGER, '9,007,199,254,740,991'],
  ])('%i is %s', (count, text) => {
    expect(grouped(count)).toBe(text);
  });
});

describe('table', () => {
  const columns: Column<readonly [string, number]>[] = [
    { title: 'Name', cell: ([name]) => printable(name), paint: (text) => `<${text}>` },
    { title: 'Count', cell: ([, count]) => String(count), align: 'right' },
    { title: 'Last', cell: ([name]) => printable(name) },
  ];
  const lines = (rows: [string, number][], heading = true) => [...table(columns, rows, { paint: plain, heading })];

  it('aligns columns and leaves no space at the end of a line', () => {
    expect(
      lines([
        ['a', 5],
        ['日本', 12345],
      ]),
    ).toEqual(['Name  Count  Last\n', '<a>         5  a\n', '<日本>  12345  日本\n']);
  });

  it('measures the rows alone when there is no heading', () => {
    expect(lines([['a', 5]], false)).toEqual(['<a>  5  a\n']);
  });

  it('starts every column at the same place, whatever the names', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 12 })), (names) => {
        const places = [
          ...table(
            columns.slice(1).reverse(),
            names.map((name) => [name, 7] as const),
            { paint: plain },
          ),
        ];
        expect(new Set(places.map((line) => widthOf(line.trimEnd()))).size).toBe(1);
      }),
    );
  });

  it('does not let one long name pad every other line', () => {
    const [, short, long] = lines([
      ['a', 1],
      ['x'.repeat(1_000_000), 1],
    ]);
    expect(short!.length).toBeLessThan(MAX_COLUMN_WIDTH + 40);
    expect(long!.length).toBeGreaterThan(2_000_000);
  });
});

describe('paintFor', () => {
  it.each([
    [{ isTTY: true }, {}, true],
    [{ isTTY: true }, { TERM: 'xterm' }, true],
    [{ isTTY: true }, { TERM: 'dumb' }, false],
    [{ isTTY: true }, { NO_COLOR: '1' }, false],
    [{ isTTY: true }, { NO_COLOR: '' }, true],
    [{ isTTY: true }, { FORCE_COLOR: '0' }, false],
    [{}, {}, false],
    [{}, { CI: 'true' }, false],
    [{ isTTY: false }, { FORCE_COLOR: '1' }, true],
    [{}, { FORCE_COLOR: '1', NO_COLOR: '1' }, false],
  ])('stream %j, environment %j: %s', (stream, env, colours) => {
    expect(paintFor(stream, env).bold('x') !== 'x').toBe(colours);
  });
});

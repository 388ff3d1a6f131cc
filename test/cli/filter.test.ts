// Owns what `--filter` matches.
// Refuses to test the glob library: only what is said of names here.

import { describe, expect, it } from 'vitest';
import { nameFilter } from '../../src/cli/filter.js';

const NAMES = [
  '',
  '.hidden',
  'a/b.weight',
  'layers.0.bias',
  'layers.1.weight',
  'layers.12.weight',
  'line\nbreak',
  '[x]',
];
const matching = (...globs: string[]) => NAMES.filter(nameFilter(globs));

describe('nameFilter', () => {
  it.each<[string[], string[]]>([
    [[], NAMES],
    [['*'], NAMES],
    [['**'], NAMES],
    [['*.weight'], ['a/b.weight', 'layers.1.weight', 'layers.12.weight']],
    [['*hidden'], ['.hidden']],
    [['layers.?.*'], ['layers.0.bias', 'layers.1.weight']],
    [['layers.{0,12}.*'], ['layers.0.bias', 'layers.12.weight']],
    [['layers.{1..12}.*'], ['layers.1.weight', 'layers.12.weight']],
    [['layers.[0-1].*'], ['layers.0.bias', 'layers.1.weight']],
    [
      ['*.bias', 'a*'],
      ['a/b.weight', 'layers.0.bias'],
    ],
    [
      ['!layers*', '!*x*'],
      ['', '.hidden', 'a/b.weight', 'line\nbreak'],
    ],
    [
      ['layers*', '!*.bias'],
      ['layers.1.weight', 'layers.12.weight'],
    ],
    [['line*break'], ['line\nbreak']],
    [['\\[x\\]'], ['[x]']],
    [['LAYERS*'], []],
  ])('%j', (globs, names) => {
    expect(matching(...globs)).toEqual(names);
  });

  it.each(['', '!', '[b-a]', '{1..1000000}', 'x'.repeat(70_000)])('refuses %j', (glob) => {
    expect(() => nameFilter([glob])).toThrow();
  });

  it('pads the members of a range that begins with a zero', () => {
    expect(['x8', 'x08', 'x10'].filter(nameFilter(['x{08..10}']))).toEqual(['x08', 'x10']);
  });
});

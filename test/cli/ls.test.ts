// Owns what `ls` prints for given rows.
// Refuses files and processes.

import { describe, expect, it } from 'vitest';
import type { Listing, Row } from '../../src/cli/collect.js';
import { listingJson, listingText } from '../../src/cli/ls.js';
import { paintFor } from '../../src/cli/terminal.js';
import { UNSAFE } from './files.js';

const paint = paintFor({}, {});
const row = (name: string, shape: number[], begin: number, end: number, shard?: string): Row => ({
  name,
  info: { dtype: 'F32', shape, data_offsets: [begin, end] },
  shard,
});
const listing = (rows: Row[], total = rows.length): Listing => ({
  rows,
  total,
  sharded: rows.some(({ shard }) => shard !== undefined),
});
const text = (of: Listing, heading = true) => [...listingText(of, { paint, heading })].join('');

describe('listingText', () => {
  it('is a table and a total', () => {
    expect(text(listing([row('weight', [4096, 14336], 0, 234881024), row('b', [], 234881024, 234881028)]))).toBe(
      [
        'Tensor  Dtype  Shape          Offsets',
        'weight  F32    [4096, 14336]  [0, 234881024]',
        'b       F32    []             [234881024, 234881028]',
        'Total: 2 tensors',
        '',
      ].join('\n'),
    );
  });

  it('says of how many a filtered listing is', () => {
    expect(text(listing([row('a', [0], 0, 0)], 1234))).toMatch(/^Total: 1 of 1,234 tensors\n$/m);
    expect(text(listing([], 0))).toBe('Tensor  Dtype  Shape  Offsets\nTotal: 0 tensors\n');
    expect(text(listing([row('a', [0], 0, 0)]))).toMatch(/^Total: 1 tensor\n$/m);
  });

  it('names the shard of each tensor of a sharded model', () => {
    expect(text(listing([row('a', [1], 0, 4, 'x.safetensors')]))).toContain('Offsets  Shard\n');
    expect(text(listing([row('a', [1], 0, 4, 'x.safetensors')]))).toContain('[0, 4]   x.safetensors\n');
  });

  it('is rows alone without the heading', () => {
    expect(text(listing([row('a', [1], 0, 4)]), false)).toBe('a  F32  [1]  [0, 4]\n');
  });

  it('keeps each hostile name on its own line, and shows an empty one', () => {
    const names = ['', '\u001b[2J\u001b]0;owned\u0007', 'a\nTotal: 0 tensors', '\u202etxt', '\u0085\u009b31m'];
    const lines = text(listing(names.map((name) => row(name, [], 0, 4)))).split('\n');
    expect(lines).toHaveLength(names.length + 3);
    expect(lines[1]).toMatch(/^"" /);
    expect(lines[3]).toMatch(/^a\\nTotal: 0 tensors /);
    for (const line of lines) expect(line).not.toMatch(UNSAFE);
  });
});

describe('listingJson', () => {
  const json = (of: Listing) => [...listingJson(of)].join('');

  it('is one document with the fields of the file', () => {
    expect(JSON.parse(json(listing([row('a', [2], 0, 8), row('b', [], 8, 12, 's')])))).toEqual([
      { name: 'a', dtype: 'F32', shape: [2], data_offsets: [0, 8] },
      { name: 'b', dtype: 'F32', shape: [], data_offsets: [8, 12], shard: 's' },
    ]);
    expect(json(listing([]))).toBe('[]\n');
  });

  it('keeps hostile names exactly, without a raw control character', () => {
    const names = ['\u001b[2J', '\u009b', '\u202e', '__proto__', 'a\nb', '\u{e0001}'];
    const document = json(listing(names.map((name) => row(name, [], 0, 4))));
    expect(JSON.parse(document)).toEqual(names.map((name) => expect.objectContaining({ name })));
    expect(document).not.toMatch(UNSAFE);
    expect(document.trimEnd().split('\n')).toHaveLength(names.length + 2);
  });
});

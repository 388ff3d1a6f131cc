// Owns the index of names: every kind of name, and names made so that their hashes collide.
// Refuses to know the slots of the table; what counts is who is found.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from '../src/index.js';
import { HASH_SEED, hashBytes, NameIndex } from '../src/names.js';
import { collidingNames } from './support/collisions.js';
import { fileOf } from './support/files.js';

/** An index over names, with bytes before the first that belong to none. */
function indexOf(names: readonly string[]): NameIndex {
  const parts = names.map((name) => Buffer.from(name));
  const bytes = Buffer.concat([Buffer.of(0x22), ...parts]);
  const begin = new Uint32Array(names.length + 1);
  begin[0] = 1;
  parts.forEach((part, k) => {
    begin[k + 1] = begin[k]! + part.length;
  });
  const hashes = Int32Array.from(names, (_, k) => hashBytes(bytes, begin[k]!, begin[k + 1]!));
  return new NameIndex({ bytes, begin }, hashes, names.length);
}

const wellFormed = fc.string({ unit: 'binary', maxLength: 20 }).map((text) => text.toWellFormed());
const name = fc.oneof(
  wellFormed,
  fc.string({ maxLength: 3 }),
  fc.constantFrom('', '\0', '__proto__', 'é', '😀', '\ufffd'),
);

describe('hashBytes', () => {
  it.each([
    ['', 0x811c9dc5],
    ['a', 0xe40c292c],
    ['foobar', 0xbf9cf968],
  ])('is FNV-1a of %j', (text, hash) => {
    const bytes = Buffer.from(`x${text}y`);
    expect(hashBytes(bytes, 1, bytes.length - 1) >>> 0).toBe(hash);
    expect(HASH_SEED >>> 0).toBe(0x811c9dc5);
  });
});

describe('NameIndex', () => {
  it('finds each name at its position and no other', () => {
    fc.assert(
      fc.property(fc.uniqueArray(name, { maxLength: 40 }), fc.array(fc.string({ unit: 'binary' })), (names, others) => {
        const index = indexOf(names);
        names.forEach((text, k) => {
          expect(index.find(text)).toBe(k);
          expect(index.name(k)).toBe(text);
        });
        for (const other of others) expect(index.find(other)).toBe(names.indexOf(other));
      }),
      { numRuns: 300 },
    );
  });

  it('refuses a name twice, wherever it stands', () => {
    fc.assert(
      fc.property(fc.uniqueArray(name, { minLength: 1, maxLength: 40 }), fc.nat(), fc.nat(), (names, which, where) => {
        const again = names[which % names.length]!;
        expect(() => indexOf(names.toSpliced(where % (names.length + 1), 0, again))).toThrow(
          expect.objectContaining({ code: 'DUPLICATE_KEY', tensor: again }),
        );
      }),
    );
  });

  it('finds nothing by a lone surrogate, though it would be written as a name that is there', () => {
    const index = indexOf(['\ufffd', 'a\ufffd']);
    expect(index.find('\ufffd')).toBe(0);
    expect(index.find('\ud800')).toBe(-1);
    expect(index.find('a\udfff')).toBe(-1);
  });

  it('finds names in a run of neighbouring slots that goes over the end of the table', () => {
    // Of 4,000 names the 60 whose hash ends in ones crowd the last slots of a table of 128.
    const crowded = Array.from({ length: 40_000 }, (_, k) => `n${k}`)
      .filter((text) => {
        const hash = hashBytes(Buffer.from(text), 0, text.length);
        return ((hash ^ (hash >>> 15)) & 127) >= 126;
      })
      .slice(0, 60);
    expect(crowded).toHaveLength(60);
    const [absent, ...present] = crowded;
    const index = indexOf(present);
    for (const [k, text] of present.entries()) expect(index.find(text)).toBe(k);
    expect(index.find(absent!)).toBe(-1);
  });
});

describe('names that collide', () => {
  const names = collidingNames(10);

  it('have one hash', () => {
    expect(new Set(names).size).toBe(1024);
    expect(new Set(names.map((text) => hashBytes(Buffer.from(text), 0, text.length))).size).toBe(1);
  });

  // Below, at and above the length of a chain at which the table gives way to a Map.
  it.each([2, 200, 256, 257, 258, 1000])('%i of them are told apart', (count) => {
    const index = indexOf(names.slice(0, count));
    for (const [k, text] of names.entries()) expect(index.find(text)).toBe(k < count ? k : -1);
    expect(index.find('other')).toBe(-1);
  });

  it.each([2, 200, 257, 1000])('one of %i of them twice is found', (count) => {
    for (const again of [0, count >> 1, count - 1]) {
      expect(() => indexOf([...names.slice(0, count), names[again]!])).toThrow(
        expect.objectContaining({ code: 'DUPLICATE_KEY', tensor: names[again] }),
      );
    }
  });

  it('work in a file', () => {
    const file = parse(fileOf(names.map((text) => ({ name: text, dtype: 'U8', shape: [1] }))));
    for (const [k, text] of names.entries()) expect(file.tensor(text).data[0]).toBe((k % 251) + 1);
    const twice = [...names, names[77]!].map((text) => ({ name: text, dtype: 'U8', shape: [1] }) as const);
    expect(() => parse(fileOf(twice))).toThrow(expect.objectContaining({ code: 'DUPLICATE_KEY', tensor: names[77] }));
  });
});

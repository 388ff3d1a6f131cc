// Owns random headers: valid entries of every dtype, spelled in all the ways that JSON allows.
// Refuses to make invalid ones; tests break them afterwards.

import fc from 'fast-check';
import { bitsOf, DTYPES, type Dtype } from '../../src/dtype.js';
import { counting, withHeader } from './files.js';
import type { NaiveTensor } from './naive.js';

type Json = string | number | boolean | null | readonly Json[] | Members;

/** Members of an object, in order. */
class Members {
  readonly list: readonly (readonly [string, Json])[];

  constructor(list: readonly (readonly [string, Json])[]) {
    this.list = list;
  }
}

/** Numbers from 0 to below 1, the same for the same seed. */
type Random = () => number;

function randomOf(seed: number): Random {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '/': '\\/',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

function spellUnit(unit: string, random: Random): string {
  const hex = unit.charCodeAt(0).toString(16).padStart(4, '0');
  return `\\u${random() < 0.5 ? hex : hex.toUpperCase()}`;
}

function spellString(text: string, random: Random): string {
  let spelled = '"';
  for (const character of text) {
    const short = SHORT_ESCAPES[character];
    const mustEscape = character < ' ' || character === '"' || character === '\\';
    if (short !== undefined && random() < 0.5) spelled += short;
    else if (mustEscape || random() < 0.1) for (const unit of character.split('')) spelled += spellUnit(unit, random);
    else spelled += character;
  }
  return `${spelled}"`;
}

function blank(random: Random): string {
  if (random() < 0.7) return '';
  return Array.from({ length: 1 + Math.floor(random() * 3) }, () => ' \t\n\r'[Math.floor(random() * 4)]).join('');
}

/** One of the many texts that mean this value. */
function spell(value: Json, random: Random): string {
  if (typeof value === 'string') return spellString(value, random);
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const isObject = value instanceof Members;
  const parts = isObject
    ? value.list.map(([key, item]) => {
        const name = spellString(key, random);
        return `${name}${blank(random)}:${blank(random)}${spell(item, random)}`;
      })
    : value.map((item) => spell(item, random));
  const inner = parts.map((part) => `${blank(random)}${part}${blank(random)}`).join(',') || blank(random);
  return isObject ? `{${inner}}` : `[${inner}]`;
}

function shuffled<T>(list: readonly T[], random: Random): T[] {
  return list
    .map((item) => ({ item, key: random() }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item);
}

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }).filter((name) => name.isWellFormed()),
  fc.string({ unit: 'grapheme-ascii', maxLength: 30 }),
  fc.constantFrom('', '0', '__proto__', 'constructor', '__metadata', '\0', '😀', 'dtype', '\ufeff', '\ufffd', '\u2028'),
);

const dims = fc.array(fc.oneof({ weight: 5, arbitrary: fc.integer({ min: 0, max: 5 }) }, fc.constantFrom(0, 1, 8)), {
  maxLength: 4,
});

const dtype = fc.constantFrom(...DTYPES);

/** A shape whose size is a whole number of bytes. */
function wholeBytes(kind: Dtype, shape: readonly number[]): number[] {
  const bits = shape.reduce((product, size) => product * size, 1) * bitsOf(kind);
  return bits % 8 === 0 ? [...shape] : [...shape, 4];
}

export interface RandomFile {
  readonly file: Uint8Array<ArrayBuffer>;
  /** In order of offset; tensors of no bytes that share an offset are in the order of the header. */
  readonly tensors: readonly NaiveTensor[];
  readonly metadata: ReadonlyMap<string, string>;
}

/** A valid file in an unusual spelling: names of any kind, fields and entries in any order, ignored fields. */
export const randomFile: fc.Arbitrary<RandomFile> = fc
  .record({
    tensors: fc.uniqueArray(fc.record({ name: text.filter((name) => name !== '__metadata__'), dtype, shape: dims }), {
      selector: ({ name }) => name,
      maxLength: 8,
    }),
    metadata: fc.option(fc.uniqueArray(fc.tuple(text, text), { selector: ([key]) => key, maxLength: 4 })),
    ignored: fc.option(fc.jsonValue({ maxDepth: 2 })),
    seed: fc.integer(),
  })
  .map(({ tensors, metadata, ignored, seed }) => {
    const random = randomOf(seed);
    let end = 0;
    const placed = tensors.map((tensor): NaiveTensor => {
      const shape = wholeBytes(tensor.dtype, tensor.shape);
      const begin = end;
      end += (shape.reduce((product, size) => product * size, 1) * bitsOf(tensor.dtype)) / 8;
      return { name: tensor.name, dtype: tensor.dtype, shape, data_offsets: [begin, end] };
    });
    const inHeader = shuffled(placed, random);
    const members = inHeader.map((tensor) => {
      const fields: [string, Json][] = [
        ['dtype', tensor.dtype],
        ['shape', tensor.shape],
        ['data_offsets', tensor.data_offsets],
      ];
      if (random() < 0.2) fields.push(['note', jsonOf(ignored)]);
      return [tensor.name, new Members(shuffled(fields, random))] as const;
    });
    const notes = metadata === null ? [] : [['__metadata__', new Members(metadata)] as const];
    const place = Math.floor(random() * (members.length + 1));
    const header = spell(new Members(members.toSpliced(place, 0, ...notes)), random);
    return {
      file: withHeader(`${blank(random)}${header}${blank(random)}`, counting(end)),
      tensors: inHeader.sort((a, b) => a.data_offsets[0] - b.data_offsets[0] || a.data_offsets[1] - b.data_offsets[1]),
      metadata: new Map(metadata ?? []),
    };
  });

/** What JSON.stringify would write, in this file's terms: lone surrogates have no place in a valid header. */
function jsonOf(value: unknown): Json {
  if (typeof value === 'string') return value.toWellFormed();
  if (typeof value === 'number') return Object.is(value, -0) ? 0 : value;
  if (typeof value === 'boolean' || value === null || value === undefined) return value ?? null;
  if (Array.isArray(value)) return value.map(jsonOf);
  const members = new Map(Object.entries(value).map(([key, item]) => [key.toWellFormed(), jsonOf(item)] as const));
  return new Members([...members]);
}

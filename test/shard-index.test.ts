// Owns the index of a sharded model as a text: what is read, what is refused, and which shard names are safe.
// Refuses the shards themselves (model.test.ts).

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareNatural } from '../src/natural.js';
import { parseShardIndex } from '../src/shard-index.js';

function parse(text: string | Uint8Array) {
  return parseShardIndex(Buffer.from(text), 'model.safetensors.index.json');
}

/** A text in which every text is a value of `weight_map`. */
function mapTo(shard: string): string {
  return JSON.stringify({ weight_map: { a: shard } });
}

describe('an index', () => {
  it('gives each tensor its shard, shards in natural order', () => {
    const index = parse(
      '{"metadata":{"total_size":12,"note":"x","list":[1, {"a":null}]},"weight_map":{"b":"m-10","a":"m-9","c":"m-10"}}',
    );
    expect(index.shards).toEqual(['m-9', 'm-10']);
    expect([...index.weightMap]).toEqual([
      ['b', 1],
      ['a', 0],
      ['c', 1],
    ]);
    expect([...index.metadata]).toEqual([
      ['total_size', '12'],
      ['note', 'x'],
      ['list', '[1, {"a":null}]'],
    ]);
  });

  it.each([
    '{"weight_map":{}}',
    ' {"weight_map" : { } } \n',
    '{"metadata":null,"weight_map":{}}',
    '{"metadata":"x","weight_map":{}}',
    '{"metadata":[],"weight_map":{}}',
    '{"other":{"a":[1,2]},"weight_map":{}}',
    '{"weight\\u005fmap":{}}',
  ])('%j has no tensors', (text) => {
    expect(parse(text)).toEqual({ shards: [], weightMap: new Map(), metadata: new Map() });
  });

  it('reads what JSON.parse reads, whatever the names', () => {
    const name = fc.string({ unit: 'binary' }).map((text) => text.toWellFormed());
    const shard = fc.constantFrom(
      'model-1.safetensors',
      'model-2.safetensors',
      'model-10.safetensors',
      'ä b.safetensors',
    );
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(name, shard), { selector: ([key]) => key }), fc.nat(3), (entries, indent) => {
        const members = entries.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`);
        const text = `{"weight_map":{${members.join(`,${' '.repeat(indent)}`)}}}`;
        const { shards, weightMap } = parse(text);
        expect([...weightMap].map(([key, position]) => [key, shards[position]])).toEqual(entries);
        expect(shards).toEqual([...new Set(entries.map(([, value]) => value))].sort(compareNatural));
      }),
    );
  });
});

describe('a malformed index', () => {
  it.each<[string, string | Uint8Array, RegExp]>([
    ['of nothing', '', /expected '\{' at byte 0/],
    ['that is an array', '[]', /expected '\{' at byte 0 of 2, found '\['/],
    ['that is null', 'null', /found 'n'/],
    ['that ends early', '{"weight_map":{"a":"x"}', /found the end of the text/],
    ['with more after it', '{"weight_map":{}}{}', /expected nothing more at byte 17/],
    ['with a comma too many', '{"weight_map":{"a":"x",}}', /expected a string/],
    ['with a byte order mark', '\ufeff{"weight_map":{}}', /found byte 0xef/],
    ['that is not UTF-8', Buffer.from('{"weight_map":{"\xff":"x"}}', 'latin1'), /not valid UTF-8/],
    ['without weight_map', '{}', /no weight_map/],
    ['without weight_map but with its shards', '{"metadata":{},"a":"x"}', /no weight_map/],
    ['with a weight_map that is an array', '{"weight_map":["x"]}', /weight_map is not an object/],
    ['with a weight_map that is null', '{"weight_map":null}', /weight_map is not an object/],
    ['with a weight_map that is a string', '{"weight_map":"x"}', /weight_map is not an object/],
    ['with a shard that is a number', '{"weight_map":{"a":1}}', /shard of tensor "a" is not a string/],
    ['with a shard that is a list', '{"weight_map":{"a":["x"]}}', /shard of tensor "a" is not a string/],
    ['with a tensor twice', '{"weight_map":{"a":"x","a":"y"}}', /"a" stands twice in weight_map, in "x" and in "y"/],
    ['with a tensor twice in one shard', '{"weight_map":{"a":"x","\\u0061":"x"}}', /"a" stands twice/],
    ['with weight_map twice', '{"weight_map":{},"weight_map":{}}', /"weight_map" stands twice in the index/],
    ['with metadata twice', '{"metadata":{},"weight_map":{},"metadata":{}}', /"metadata" stands twice in the index/],
    ['with a key of metadata twice', '{"metadata":{"k":1,"k":2},"weight_map":{}}', /"k" stands twice in metadata/],
    ['with a lone surrogate', '{"weight_map":{"\\ud800":"x"}}', /no lone surrogate/],
    ['with a control character in a name', '{"weight_map":{"\u0001":"x"}}', /control character/],
    ['with 100,000 brackets', `{"note":${'['.repeat(100_000)}`, /levels of nesting/],
  ])('%s is refused', (_, text, message) => {
    expect(() => parse(text)).toThrow(
      expect.objectContaining({ code: 'INVALID_INDEX', isFormatError: true, path: 'model.safetensors.index.json' }),
    );
    expect(() => parse(text)).toThrow(message);
    expect(() => parse(text)).toThrow(/^"model\.safetensors\.index\.json": /);
  });

  it('names the tensor to blame', () => {
    expect(() => parse('{"weight_map":{"a":1}}')).toThrow(expect.objectContaining({ tensor: 'a' }));
  });
});

describe('the name of a shard', () => {
  it.each([
    'model.safetensors',
    'a..b.safetensors',
    '...',
    '.hidden',
    '~',
    'ab:c',
    'model 1.safetensors',
    'é',
    '%2e%2e',
    'NUL',
  ])('may be %j', (shard) => {
    expect(parse(mapTo(shard)).shards).toEqual([shard]);
  });

  it.each([
    '',
    '.',
    '..',
    '../model.safetensors',
    '../../etc/passwd',
    '/model.safetensors',
    '/',
    'a/b',
    'a/../b',
    './a',
    'a/',
    '..\\model.safetensors',
    'a\\b',
    '\\\\server\\share',
    'C:model.safetensors',
    'C:\\model',
    'c:',
    'a\0b',
    '\0',
  ])('may not be %j', (shard) => {
    expect(() => parse(mapTo(shard))).toThrow(
      expect.objectContaining({ code: 'UNSAFE_SHARD_NAME', isFormatError: true }),
    );
    expect(() => parse(mapTo(shard))).toThrow(`the shard ${JSON.stringify(shard)};`);
  });

  it('is judged after its escapes', () => {
    expect(() => parse('{"weight_map":{"a":"\\u002e\\u002e\\u002fx"}}')).toThrow(
      expect.objectContaining({ code: 'UNSAFE_SHARD_NAME' }),
    );
  });
});

// Owns the header against its naive twin: random files in unusual spellings, and files broken at random.
// Refuses to test where tensors lie (layout.test.ts) and the grammar of JSON by itself (json.test.ts).

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Header, headerLengthOf } from '../src/header.js';
import { parse, SafeTensorsError } from '../src/index.js';
import { fileOf, withHeader } from './support/files.js';
import { randomFile } from './support/headers.js';
import { type NaiveFile, naiveRead } from './support/naive.js';

/** What the library says of a file, in the twin's terms; any error but its own passes through. */
function read(file: Uint8Array): NaiveFile | undefined {
  try {
    const { header } = parse(file);
    const tensors = [...header].map(
      ([
        name,
        {
          dtype,
          shape,
          data_offsets: [begin, end],
        },
      ]) => ({
        name,
        dtype,
        shape: [...shape],
        data_offsets: [begin, end] as [number, number],
      }),
    );
    return { tensors, metadata: new Map(header.metadata) };
  } catch (error) {
    if (!(error instanceof SafeTensorsError && error.isFormatError)) throw error;
    return undefined;
  }
}

function headerOf(text: string, dataLength = 0): Header {
  const bytes = Buffer.from(text);
  return new Header(bytes, 8 + bytes.length + dataLength, undefined);
}

describe('a header', () => {
  it('means the same however it is spelled', () => {
    fc.assert(
      fc.property(randomFile, ({ file, tensors, metadata }) => {
        const before = Buffer.from(file);
        expect(read(file)).toEqual({ tensors, metadata });
        expect(naiveRead(file)).toEqual({ tensors, metadata });
        expect(before.equals(file)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it('is read whatever its beginning makes the reader expect of the rest', () => {
    // Many tensors whose names become longer, shorter, or much longer once; metadata that takes most of the header.
    const length = fc.oneof(
      { weight: 8, arbitrary: fc.integer({ min: 0, max: 40 }) },
      fc.integer({ min: 0, max: 3000 }),
    );
    const parts = fc.array(fc.record({ count: fc.integer({ min: 1, max: 200 }), length, escaped: fc.boolean() }), {
      minLength: 1,
      maxLength: 4,
    });
    const place = fc.constantFrom('first', 'last', 'absent');
    fc.assert(
      fc.property(parts, place, fc.integer({ min: 0, max: 20_000 }), (kinds, where, metadataLength) => {
        const entries: string[] = [];
        const tensors: NaiveFile['tensors'] = [];
        for (const { count, length, escaped } of kinds) {
          for (let i = 0; i < count; i++) {
            const at = tensors.length;
            tensors.push({
              name: `${'é'.repeat(length)}${at}`,
              dtype: 'U8',
              shape: [1],
              data_offsets: [at, at + 1],
            });
            const name = `${(escaped && i % 7 === 0 ? '\\u00e9' : 'é').repeat(length)}${at}`;
            entries.push(`"${name}":{"dtype":"U8","shape":[1],"data_offsets":[${at},${at + 1}]}`);
          }
        }
        const metadata = new Map(where === 'absent' ? [] : [['a', 'b'.repeat(metadataLength)]]);
        const member = `"__metadata__":${JSON.stringify(Object.fromEntries(metadata))}`;
        if (where === 'first') entries.unshift(member);
        if (where === 'last') entries.push(member);
        const file = withHeader(Buffer.from(`{${entries.join(',')}}`), new Uint8Array(tensors.length));
        expect(read(file)).toEqual({ tensors, metadata });
        const { header } = parse(file);
        for (const { name } of tensors) expect(header.has(name)).toBe(true);
      }),
      { numRuns: 25 },
    );
  });

  it('finds every name that it lists, and no other', () => {
    fc.assert(
      fc.property(randomFile, fc.string(), ({ file, tensors }, other) => {
        const { header } = parse(file);
        for (const { name, dtype, shape, data_offsets } of tensors) {
          expect(header.has(name)).toBe(true);
          expect(header.info(name)).toEqual({ dtype, shape, data_offsets });
        }
        expect(header.has(other)).toBe(tensors.some(({ name }) => name === other));
      }),
      { numRuns: 200 },
    );
  });
});

describe('a broken file', () => {
  /** Byte values that mean something to JSON, and any other. */
  const byte = fc.oneof(
    fc.constantFrom(...Buffer.from('{}[]",:\\0123456789.eE+-ntfu \n\0/').values()),
    fc.integer({ min: 0, max: 255 }),
  );
  const place = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

  it.each<[string, (file: Uint8Array, at: number, value: number) => Uint8Array]>([
    ['with one byte changed', (file, at, value) => file.with(at, value)],
    [
      'with one byte more',
      (file, at, value) => Buffer.concat([file.subarray(0, at), Buffer.of(value), file.subarray(at)]),
    ],
    ['with one byte less', (file, at) => Buffer.concat([file.subarray(0, at), file.subarray(at + 1)])],
    ['cut off', (file, at) => file.slice(0, at)],
  ])('%s is read or refused as the twin does', (_, mutate) => {
    fc.assert(
      fc.property(randomFile, place, byte, ({ file }, at, value) => {
        const broken = mutate(file, Math.floor(at * file.length), value);
        expect(read(broken)).toEqual(naiveRead(broken));
      }),
      { numRuns: 600 },
    );
  });

  it('of which the header alone is damaged, its length right again, is read or refused as the twin does', () => {
    fc.assert(
      fc.property(randomFile, fc.array(fc.tuple(place, byte), { minLength: 1, maxLength: 3 }), ({ file }, changes) => {
        const length = Number(Buffer.from(file).readBigUInt64LE());
        let header = Buffer.from(file.subarray(8, 8 + length));
        for (const [at, value] of changes) {
          const position = Math.floor(at * header.length);
          const rest = header.subarray(position + (value & 1));
          header = Buffer.concat([header.subarray(0, position), Buffer.of(value), rest]);
        }
        const broken = withHeader(header, file.subarray(8 + length));
        expect(read(broken)).toEqual(naiveRead(broken));
      }),
      { numRuns: 600 },
    );
  });
});

describe('the length of the header', () => {
  const prefix = (length: bigint) => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(length);
    return bytes;
  };

  it.each([
    [0n, 8, 'a header of no bytes, which is then no JSON', 0],
    [92n, 100, 'a header up to the end of the file', 92],
    [100_000_000n, 100_000_008, 'the longest allowed', 100_000_000],
  ] as const)('%s of a file of %i bytes: %s', (length, size, _, expected) => {
    expect(headerLengthOf(prefix(length), size, 100_000_000)).toBe(expected);
  });

  it.each([
    [93n, 100, 'INVALID_HEADER_LENGTH'],
    [100_000_001n, 200_000_000, 'HEADER_TOO_LARGE'],
    [100_000_001n, 9, 'HEADER_TOO_LARGE'],
    [2n ** 53n + 1n, 100, 'HEADER_TOO_LARGE'],
    [2n ** 63n, 100, 'HEADER_TOO_LARGE'],
    [2n ** 64n - 1n, 100, 'HEADER_TOO_LARGE'],
    [2n ** 64n - 8n, 100, 'HEADER_TOO_LARGE'],
  ] as const)('%s of a file of %i bytes: %s', (length, size, code) => {
    expect(() => headerLengthOf(prefix(length), size, 100_000_000)).toThrow(expect.objectContaining({ code }));
  });

  it.each([0, 1, 7])('is not in a file of %i bytes', (size) => {
    expect(() => headerLengthOf(new Uint8Array(size), size, 100)).toThrow(
      expect.objectContaining({ code: 'HEADER_TOO_SMALL' }),
    );
  });
});

describe('what a Header says', () => {
  const { header } = parse(
    fileOf(
      [
        { name: 'a', dtype: 'F32', shape: [2, 3] },
        { name: 'b', dtype: 'U8', shape: [] },
      ],
      { metadata: { format: 'pt' } },
    ),
  );

  it('describes the file', () => {
    expect(header.path).toBeUndefined();
    expect(header.size).toBe(2);
    expect(header.byteLength).toBe(header.dataOffset + 25);
    expect(header.dataOffset).toBe(8 + header.headerLength);
    expect([...header.metadata]).toEqual([['format', 'pt']]);
  });

  it('hands out frozen infos', () => {
    const info = header.info('a');
    expect([info, info.shape, info.data_offsets].every(Object.isFrozen)).toBe(true);
    expect(info).toEqual({ dtype: 'F32', shape: [2, 3], data_offsets: [0, 24] });
  });

  it('has no metadata where the file has none', () => {
    expect(headerOf('{}').metadata.size).toBe(0);
    expect(headerOf('{"__metadata__":null}').metadata.size).toBe(0);
    expect(headerOf('{"__metadata__":{}}').metadata.size).toBe(0);
  });

  it.each([
    ['layers.2.mlp.up', 'model.layers.2.mlp.up'],
    ['Model.Layers.1.mlp.up', 'model.layers.1.mlp.up'],
    ['model.ids', 'ids'],
    ['weight', 'lm_head.weight'],
    ['lm_head.wieght', 'lm_head.weight'],
  ])('names the closest names to %s, which is not there', (wanted, closest) => {
    const names = [
      'model.layers.1.mlp.up',
      'model.layers.2.mlp.up',
      'lm_head.weight',
      wanted === 'ids' ? closest : 'ids',
    ];
    const text = names.map((name) => `"${name}":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}`).join(',');
    expect(() => headerOf(`{${text}}`).info(wanted)).toThrow(
      expect.objectContaining({
        code: 'TENSOR_NOT_FOUND',
        tensor: wanted,
        message: expect.stringContaining(`"${wanted}" among 4; the closest: "${closest}"`),
      }),
    );
  });
});

describe('a header made to hurt', () => {
  it.each(['[', '{"a":', '[[],'])('of 100,000 times %s is refused', (unit) => {
    const deep = unit.repeat(100_000);
    for (const text of [
      deep,
      `{"a":${deep}`,
      `{"__metadata__":${deep}`,
      `{"a":{"note":${deep}`,
      `{"a":{"shape":${deep}`,
    ]) {
      expect(() => parse(withHeader(text))).toThrow(SafeTensorsError);
    }
  });

  it('of 50 MB of white space or one long string is read', () => {
    const room = Buffer.alloc(50_000_000, ' ');
    room.write('{', 0);
    room.write('}', room.length - 1);
    expect(parse(withHeader(room)).size).toBe(0);
    room.fill('x');
    room.write('{"__metadata__":{"a":"', 0);
    room.write('"}}', room.length - 3);
    expect(parse(withHeader(room)).metadata.get('a')).toHaveLength(50_000_000 - 25);
  });

  it('of a name of a million bytes is read, and quoted short when refused', () => {
    const name = 'n'.repeat(1_000_000);
    const text = `{"${name}":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}`;
    expect(headerOf(text).has(name)).toBe(true);
    const failed = (() => headerOf(text.replace('U8', 'U9'))) as () => unknown;
    expect(failed).toThrow(expect.objectContaining({ code: 'UNKNOWN_DTYPE', tensor: name }));
    expect(failed).toThrow(/^.{0,300}$/);
  });

  it('of 100,000 dimensions is read', () => {
    const shape = `[${'1,'.repeat(99_999)}1]`;
    expect(headerOf(`{"a":{"dtype":"U8","shape":${shape},"data_offsets":[0,1]}}`, 1).info('a').shape).toHaveLength(
      100_000,
    );
  });
});

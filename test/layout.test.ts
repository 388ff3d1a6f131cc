// Owns the rules of where tensors lie: each broken on its own, with its code, and what the message must say.
// Refuses segments (segments.test.ts).

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bitsOf, DTYPES } from '../src/dtype.js';
import { type ErrorCode, parse, SafeTensorsError } from '../src/index.js';
import { withHeader } from './support/files.js';

/** `name dtype [shape] begin end`. */
type Entry = string;

function fileOf(entries: readonly Entry[], dataLength: number): Uint8Array<ArrayBuffer> {
  const members = entries.map((entry) => {
    const [name, dtype, shape, begin, end] = entry.split(' ');
    return `${JSON.stringify(name)}:{"dtype":"${dtype}","shape":${shape},"data_offsets":[${begin},${end}]}`;
  });
  return withHeader(`{${members.join(',')}}`, new Uint8Array(dataLength));
}

function failure(entries: readonly Entry[], dataLength: number): SafeTensorsError {
  try {
    parse(fileOf(entries, dataLength));
  } catch (error) {
    if (error instanceof SafeTensorsError) return error;
    throw error;
  }
  return expect.fail('the file was accepted');
}

const U64 = '18446744073709551615';
const SAFE = String(Number.MAX_SAFE_INTEGER);

describe('a layout', () => {
  it.each<[what: string, entries: Entry[], dataLength: number]>([
    ['of no tensors', [], 0],
    ['of a scalar', ['a F64 [] 0 8'], 8],
    ['of tensors out of order', ['b U8 [3] 1 4', 'a U8 [1] 0 1'], 4],
    ['of an empty tensor between two', ['a U8 [1] 0 1', 'e F32 [0] 1 1', 'b U8 [1] 1 2'], 2],
    ['of an empty tensor that starts where its neighbour does', ['b U8 [2] 0 2', 'e F32 [0,7] 0 0'], 2],
    ['of an empty tensor at the end', ['b U8 [2] 0 2', 'e F32 [3,0] 2 2'], 2],
    ['of the largest dimension there is, times 0', [`e U8 [${SAFE},0] 0 0`], 0],
    ['of packed elements that fill their bytes', ['f F4 [2] 0 1', 's F6_E2M3 [4] 1 4'], 4],
    ['of no packed elements', ['f F4 [0] 0 0'], 0],
  ])('%s is accepted', (_, entries, dataLength) => {
    expect(parse(fileOf(entries, dataLength)).size).toBe(entries.length);
  });

  it.each<[code: ErrorCode, what: string, entries: Entry[], dataLength: number, message: RegExp]>([
    [
      'INVALID_OFFSETS',
      'a gap before the first',
      ['a U8 [1] 1 2'],
      2,
      /"a" begins at byte 1, leaving a gap after byte 0/,
    ],
    [
      'INVALID_OFFSETS',
      'a gap between',
      ['a U8 [1] 0 1', 'b U8 [1] 2 3'],
      3,
      /"b" begins at byte 2, leaving a gap after byte 1/,
    ],
    [
      'INVALID_OFFSETS',
      'an overlap',
      ['a U8 [2] 0 2', 'b U8 [2] 1 3'],
      3,
      /"b" begins at byte 1, inside the tensor before it, which ends at 2/,
    ],
    [
      'INVALID_OFFSETS',
      'two tensors on the same bytes',
      ['a U8 [2] 0 2', 'b U8 [2] 0 2'],
      2,
      /"b" begins at byte 0, inside/,
    ],
    [
      'INVALID_OFFSETS',
      'an end before its begin',
      ['a U8 [1] 0 1', 'b U8 [1] 1 0'],
      1,
      /"b" ends at byte 0, before its begin at 1/,
    ],
    [
      'INVALID_OFFSETS',
      'an empty tensor inside another',
      ['a U8 [2] 0 2', 'e U8 [0] 1 1'],
      2,
      /"e" begins at byte 1, inside/,
    ],
    [
      'SIZE_MISMATCH',
      'too few bytes',
      ['a F32 [2] 0 7'],
      7,
      /"a" of dtype F32 and shape \[2\] takes 8 bytes, but data_offsets \[0, 7\] hold 7/,
    ],
    [
      'SIZE_MISMATCH',
      'too many bytes',
      ['a BF16 [2,3] 0 13'],
      13,
      /takes 12 bytes, but data_offsets \[0, 13\] hold 13/,
    ],
    ['SIZE_MISMATCH', 'bytes for an empty tensor', ['a U8 [0] 0 1'], 1, /takes 0 bytes/],
    ['SIZE_MISMATCH', 'a scalar of no bytes', ['a U8 [] 0 0'], 0, /shape \[\] takes 1 bytes/],
    ['SIZE_MISMATCH', 'a size over 2^53 of few bytes', [`a U8 [${SAFE},2] 0 1`], 1, /takes 18014398509481982 bytes/],
    [
      'SIZE_OVERFLOW',
      'a size over 2^64 bits',
      [`a U8 [${U64}] 0 1`],
      1,
      /"a" of dtype U8 and shape \[18446744073709551615\]/,
    ],
    ['SIZE_OVERFLOW', 'a product over 2^64', ['a U8 [4294967296,4294967296] 0 1'], 1, /4294967296, 4294967296/],
    ['SIZE_OVERFLOW', 'a product that overflows before a 0', ['a U8 [4294967296,4294967296,0] 0 0'], 0, /"a"/],
    ['SIZE_OVERFLOW', 'a product that is 0 modulo 2^64', ['a U8 [9223372036854775808,2] 0 0'], 0, /"a"/],
    ['SIZE_OVERFLOW', 'a dimension over 2^53 - 1 after a 0', ['a U8 [0,9007199254740992] 0 0'], 0, /"a"/],
    ['SIZE_OVERFLOW', 'a dimension over 2^53 - 1 before a 0', ['a U8 [9007199254740992,0] 0 0'], 0, /"a"/],
    ['SUB_BYTE_MISALIGNED', 'half a byte', ['a F4 [1] 0 1'], 1, /"a" of dtype F4 and shape \[1\] takes 4 bits/],
    ['SUB_BYTE_MISALIGNED', 'three quarters of a byte', ['a F6_E3M2 [] 0 1'], 1, /shape \[\] takes 6 bits/],
    ['SUB_BYTE_MISALIGNED', 'a row of 3 in F6', ['a F6_E2M3 [3] 0 3'], 3, /takes 18 bits/],
    [
      'TRUNCATED_DATA',
      'a byte too few',
      ['a U8 [9] 0 9'],
      8,
      /end at byte 9 of the data, but the file has 8: 1 bytes are missing/,
    ],
    ['TRUNCATED_DATA', 'nothing after the header', ['a U8 [9] 0 9'], 0, /9 bytes are missing/],
    [
      'TRUNCATED_DATA',
      'an end over 2^53',
      ['a U8 [9007199254740993] 0 9007199254740993'],
      4,
      /9007199254740989 bytes are missing/,
    ],
    [
      'TRAILING_DATA',
      'a byte too many',
      ['a U8 [9] 0 9'],
      10,
      /end at byte 9 of the data, but 1 more bytes follow \(10 in all\)/,
    ],
    ['TRAILING_DATA', 'data of no tensor', [], 3, /3 more bytes follow/],
  ])('gives %s for %s', (code, _, entries, dataLength, message) => {
    const error = failure(entries, dataLength);
    expect(error.code).toBe(code);
    expect(error.message).toMatch(message);
    expect(error.isFormatError).toBe(true);
    const blamed = code === 'TRUNCATED_DATA' || code === 'TRAILING_DATA' ? undefined : entries.at(-1)!.split(' ')[0];
    expect(error.tensor).toBe(blamed);
  });

  it('keeps messages short and printable whatever the name and shape', () => {
    const error = failure([`\u0007\u202e${'x'.repeat(1000)} U8 [${'1,'.repeat(999)}2] 0 1`], 1);
    expect(error.code).toBe('SIZE_MISMATCH');
    expect(error.message).toMatch(/^[ -~…]{0,400}$/);
    expect(error.message).toContain('1000 dimensions');
  });
});

describe('a random layout', () => {
  const tensor = fc
    .record({ dtype: fc.constantFrom(...DTYPES), shape: fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 3 }) })
    .map(({ dtype, shape }) => {
      const whole = (shape.reduce((product, size) => product * size, 1) * bitsOf(dtype)) % 8 === 0;
      const dims = whole ? shape : [...shape, 4];
      return { dtype, dims, byteLength: (dims.reduce((product, size) => product * size, 1) * bitsOf(dtype)) / 8 };
    });
  const layout = fc.array(tensor, { minLength: 1, maxLength: 10 }).map((tensors) => {
    let end = 0;
    return tensors.map(({ dtype, dims, byteLength }, k): Entry => {
      end += byteLength;
      return `t${k} ${dtype} [${dims}] ${end - byteLength} ${end}`;
    });
  });
  const lengthOf = (entries: readonly Entry[]) => Number(entries.at(-1)!.split(' ')[4]);

  it('is accepted in any order of its entries', () => {
    fc.assert(
      fc.property(layout, fc.infiniteStream(fc.nat()), (entries, keys) => {
        const shuffled = entries
          .map((entry) => ({ entry, key: keys.next().value }))
          .sort((a, b) => a.key - b.key)
          .map(({ entry }) => entry);
        const { header } = parse(fileOf(shuffled, lengthOf(entries)));
        let previous = 0;
        for (const [, { data_offsets: offsets }] of header) {
          expect(offsets[0]).toBe(previous);
          previous = offsets[1];
        }
        expect(previous).toBe(lengthOf(entries));
      }),
    );
  });

  it('is refused with a layout code as soon as one offset is off', () => {
    const codes = ['INVALID_OFFSETS', 'SIZE_MISMATCH', 'TRUNCATED_DATA', 'TRAILING_DATA'];
    fc.assert(
      fc.property(
        layout,
        fc.nat(),
        fc.constantFrom(3, 4),
        fc.integer({ min: 1, max: 3 }),
        (entries, which, field, by) => {
          const position = which % entries.length;
          const fields = entries[position]!.split(' ');
          const broken = fields.with(field, String(Number(fields[field]) + by)).join(' ');
          expect(codes).toContain(failure(entries.with(position, broken), lengthOf(entries)).code);
        },
      ),
    );
  });

  it('is refused when the file is longer or shorter, and the message counts the bytes', () => {
    fc.assert(
      fc.property(layout, fc.integer({ min: 1, max: 20 }), (entries, by) => {
        const length = lengthOf(entries);
        expect(failure(entries, length + by)).toMatchObject({ code: 'TRAILING_DATA' });
        if (length < by) return;
        const error = failure(entries, length - by);
        expect(error.code).toBe('TRUNCATED_DATA');
        expect(error.message).toContain(`: ${by} bytes are missing`);
      }),
    );
  });
});

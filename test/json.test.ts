// Owns strict JSON against JSON.parse: the same texts are valid, but for what the format refuses on purpose.
// Refuses headers; what they mean is tested elsewhere.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeString, expectEnd, MAX_DEPTH, skipString, skipValue, skipWhitespace, walkObject } from '../src/json.js';

/** Whether the library takes a text for one JSON value. */
function accepts(text: string): boolean {
  const bytes = Buffer.from(text);
  try {
    expectEnd(bytes, skipValue(bytes, skipWhitespace(bytes, 0), 0));
    return true;
  } catch (error) {
    expect(error).toMatchObject({ name: 'SafeTensorsError', code: expect.stringMatching(/JSON|DUPLICATE/) });
    return false;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function decode(spelled: string): string {
  const bytes = Buffer.from(spelled);
  const end = skipString(bytes, 0);
  expect(end).toBe(bytes.length);
  return decodeString(bytes, 0, end);
}

describe('skipValue', () => {
  it.each([
    '0',
    '-0',
    '1',
    '-1',
    '10',
    '1.5',
    '0.0',
    '1e5',
    '1E+5',
    '1e-5',
    '-0.0e-0',
    '1.7976931348623157e308',
    '0e999999',
    'true',
    'false',
    'null',
    '""',
    '[]',
    '{}',
    ' [ ] ',
    '{"a":1}',
    '[1,2]',
    '{"a":{"a":[]}}',
    '"\\u0000"',
    '"\\ud83d\\ude00"',
    '"\\ud800\\udc00"',
    '"\\uDBFF\\uDFFF"',
    '"\\ud7ff\\ue000"',
  ])('takes %s', (text) => {
    expect(isJson(text)).toBe(true);
    expect(accepts(text)).toBe(true);
  });

  it.each([
    '',
    ' ',
    '01',
    '-',
    '-01',
    '+1',
    '.5',
    '1.',
    '1.e5',
    '1e',
    '1e+',
    '0x1',
    'NaN',
    'Infinity',
    '-Infinity',
    'True',
    'nul',
    'nulll',
    'tru',
    '[1,]',
    '[,1]',
    '[',
    ']',
    '{',
    '{"a"}',
    '{"a":}',
    '{"a":1,}',
    '{,}',
    '{a:1}',
    "{'a':1}",
    '"',
    '"\\"',
    '"\\x41"',
    '"\\u12"',
    '"\\u12g4"',
    '"\t"',
    '"\n"',
    '"\0"',
    '1 2',
    '[] []',
    '/**/1',
    '1//',
    '\ufeff1',
    '\u00a01',
    '[1}',
    '{"a":1]',
    '"\\',
    '"\\u',
  ])('refuses %j', (text) => {
    expect(isJson(text)).toBe(false);
    expect(accepts(text)).toBe(false);
  });

  it.each([
    ['a key twice', '{"a":1,"a":1}'],
    ['a key twice, spelled in two ways', '{"a":1,"\\u0061":1}'],
    ['a key twice, deep inside', '[{"x":[{"":1,"":2}]}]'],
    ['a number that no double holds', '1e309'],
    ['a long number that no double holds', `1${'0'.repeat(309)}`],
    ['a lone high surrogate', '"\\ud83d"'],
    ['a lone low surrogate', '"\\ude00"'],
    ['surrogates in the wrong order', '"\\ude00\\ud83d"'],
    ['a high surrogate twice', '"\\ud83d\\ud83d"'],
    ['a high surrogate before another escape', '"\\ud83d\\n"'],
    ['a high surrogate in a key', '{"\\ud83d":1}'],
  ])('refuses what JSON.parse takes: %s', (_, text) => {
    expect(isJson(text)).toBe(true);
    expect(accepts(text)).toBe(false);
  });

  it(`allows ${MAX_DEPTH} containers inside one another, and no more`, () => {
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
      ['[{"a":', '}]'],
    ] as const) {
      const units = MAX_DEPTH / (open.startsWith('[{') ? 2 : 1);
      const nested = (count: number) => `${open.repeat(count)}1${close.repeat(count)}`;
      expect(accepts(nested(Math.floor(units)))).toBe(true);
      expect(accepts(nested(Math.floor(units) + 1))).toBe(false);
    }
  });

  it('does not run out of stack', () => {
    expect(accepts('['.repeat(100_000))).toBe(false);
    expect(accepts('{"a":'.repeat(100_000))).toBe(false);
  });

  it('takes whatever JSON.stringify writes', () => {
    const value = fc.jsonValue({ noUnicodeString: false, stringUnit: 'binary' });
    fc.assert(
      fc.property(value, fc.constantFrom('', ' ', '\t', '\n'), (json, indent) => {
        // A lone surrogate in a value has no place in a file.
        expect(accepts(JSON.stringify(json, undefined, indent).toWellFormed())).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it('agrees with JSON.parse on texts made of its own letters', () => {
    const letters = fc.constantFrom(...'{}[]",:019.-', 'true', 'null', ' ', '"a"', '"b":', '"c":', '[1', '},{');
    fc.assert(
      fc.property(fc.array(letters, { maxLength: 9 }), (parts) => {
        const text = parts.join('');
        const keys = text.match(/"[^"]*"(?=\s*:)/g) ?? [];
        fc.pre(new Set(keys).size === keys.length);
        expect(accepts(text), text).toBe(isJson(text));
      }),
      { numRuns: 2000 },
    );
  });
});

describe('decodeString', () => {
  it('reads what JSON.stringify writes, as JSON.parse does', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const wellFormed = text.toWellFormed();
        expect(decode(JSON.stringify(wellFormed))).toBe(wellFormed);
      }),
    );
  });

  it('reads every UTF-16 unit by its escape, in both cases of hexadecimal digits', () => {
    for (let unit = 0; unit < 0x10000; unit += unit < 0x200 ? 1 : 37) {
      if (unit >= 0xd800 && unit <= 0xdfff) continue;
      const hex = unit.toString(16).padStart(4, '0');
      expect(decode(`"\\u${hex}"`)).toBe(String.fromCharCode(unit));
      expect(decode(`"\\u${hex.toUpperCase()}"`)).toBe(String.fromCharCode(unit));
    }
  });

  it('keeps a byte order mark', () => {
    expect(decode('"\ufeffa"')).toBe('\ufeffa');
  });
});

describe('errors', () => {
  it.each([
    ['{"a" 1}', /expected ':' at byte 5 of 7, found '1'/],
    ['[1 2]', /expected ',' or '\]' at byte 3 of 5, found '2'/],
    ['[1', /at byte 2 of 2, found the end of the text/],
    ['"\u0007"', /expected no control character in a string at byte 1 of 3, found byte 0x07/],
    ['é', /expected a value at byte 0 of 2, found byte 0xc3/],
  ])('of %j say what was expected, where, and what was found', (text, message) => {
    const bytes = Buffer.from(text);
    expect(() => skipValue(bytes, 0, 0)).toThrow(message);
  });
});

describe('walkObject', () => {
  it('visits the members in order, keys twice included', () => {
    const bytes = Buffer.from(' { "a" : 1 , "b":[2] ,"a":{} } ');
    const seen: [string, string][] = [];
    const end = walkObject(bytes, 0, (keyBegin, keyEnd, value) => {
      const after = skipValue(bytes, value, 1);
      seen.push([decodeString(bytes, keyBegin, keyEnd), bytes.toString('utf8', value, after)]);
      return after;
    });
    expect(seen).toEqual([
      ['a', '1'],
      ['b', '[2]'],
      ['a', '{}'],
    ]);
    expect(() => expectEnd(bytes, end)).not.toThrow();
    expect(() => expectEnd(bytes, end - 1)).toThrow();
  });
});

// Owns what is promised of metadata values that hold JSON.
// Refuses the rest of `info`.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expandJson } from '../../src/cli/expand.js';

describe('expandJson', () => {
  it('prints one member a line', () => {
    expect(expandJson(' {"a": [1,{}],"b":{"c":"x, [y]:\\"" } ,"d":[]}')).toBe(
      ['{', '  "a": [', '    1,', '    {}', '  ],', '  "b": {', '    "c": "x, [y]:\\""', '  },', '  "d": []', '}'].join(
        '\n',
      ),
    );
  });

  it('keeps digits, the order of keys and repeated keys', () => {
    expect(expandJson('{"b":12345678901234567890,"1":1.50,"b":1e400}')).toBe(
      '{\n  "b": 12345678901234567890,\n  "1": 1.50,\n  "b": 1e400\n}',
    );
  });

  it.each([
    '',
    'pt',
    '12',
    '"[1]"',
    'null',
    '{',
    '[1,]',
    '{a:1}',
    `[${' '.repeat(1 << 20)}]`,
    '['.repeat(40) + ']'.repeat(40),
  ])('leaves %.20j as it is', (text) => {
    expect(expandJson(text)).toBeUndefined();
  });

  it('never recurses on hostile nesting', () => {
    expect(expandJson('['.repeat(500_000) + ']'.repeat(500_000))).toBeUndefined();
  });

  it('agrees with the usual printer', () => {
    fc.assert(
      fc.property(fc.oneof(fc.array(fc.jsonValue()), fc.dictionary(fc.string(), fc.jsonValue())), (value) => {
        expect(expandJson(JSON.stringify(value))).toBe(JSON.stringify(value, null, 2));
      }),
    );
  });
});

// Owns the fields of an entry and of the metadata: every way in which one can be wrong, with its code.
// Refuses where tensors lie (layout.test.ts) and JSON itself (json.test.ts).

import { describe, expect, it } from 'vitest';
import { DTYPES } from '../src/dtype.js';
import { parse } from '../src/index.js';
import { withHeader } from './support/files.js';

const failing = (header: string, code: string) => {
  const read = () => parse(withHeader(header, new Uint8Array(1)));
  expect(read).toThrow(expect.objectContaining({ code, isFormatError: true }));
  return read;
};

const entry = (fields: string) => `{"a":{${fields}}}`;

describe.each([
  ['shape', (item: string) => entry(`"dtype":"U8","shape":[${item}],"data_offsets":[0,1]`)],
  ['data_offsets', (item: string) => entry(`"dtype":"U8","shape":[1],"data_offsets":[0,${item}]`)],
  ['data_offsets', (item: string) => entry(`"dtype":"U8","shape":[1],"data_offsets":[${item},1]`)],
] as const)('an integer of %s', (field, header) => {
  it.each([
    '1.0',
    '1e0',
    '1E0',
    '10e-1',
    '-0',
    '-1',
    '0.5',
    '"1"',
    'null',
    'true',
    '[1]',
    '{}',
    '18446744073709551616',
  ])('may not be %s', (item) => {
    expect(failing(header(item), 'INVALID_TENSOR_INFO')).toThrow(/^tensor "a" has /);
    expect(failing(header(item), 'INVALID_TENSOR_INFO')).toThrow(`in its ${field}: `);
  });

  it.each(['01', '00', '+1', '0x1', '1_0', '.1', '1.', '1e', 'NaN', '1 1', "'1'", '1n', '\u0661'])(
    'may not be %s, which is no JSON',
    (item) => {
      failing(header(item), 'INVALID_HEADER_JSON');
    },
  );
});

describe('an entry', () => {
  it.each(['null', '[]', '["U8",[1],[0,1]]', '"U8"', '1', 'true'])('may not be %s', (value) => {
    expect(failing(`{"a":${value}}`, 'INVALID_TENSOR_INFO')).toThrow('tensor "a" is not described by an object');
  });

  it.each([
    ['dtype', '"shape":[1],"data_offsets":[0,1]'],
    ['shape', '"dtype":"U8","data_offsets":[0,1]'],
    ['data_offsets', '"dtype":"U8","shape":[1]'],
    ['dtype', ''],
    ['dtype', '"Dtype":"U8","shape":[1],"data_offsets":[0,1]'],
    ['shape', '"dtype":"U8","shapes":[1],"data_offsets":[0,1]'],
    ['data_offsets', '"dtype":"U8","shape":[1],"data_offset":[0,1]'],
  ])('needs %s: {%s}', (field, fields) => {
    expect(failing(entry(fields), 'INVALID_TENSOR_INFO')).toThrow(`tensor "a" has no ${field}`);
  });

  it.each([
    ['dtype', '"dtype":"U8","shape":[1],"data_offsets":[0,1],"dtype":"U8"'],
    ['shape', '"shape":[1],"shape":[1],"dtype":"U8","data_offsets":[0,1]'],
    ['data_offsets', '"dtype":"U8","data_offsets":[0,1],"shape":[1],"data_offset\\u0073":[0,1]'],
    ['note', '"note":1,"dtype":"U8","note":2,"shape":[1],"data_offsets":[0,1]'],
  ])('may not have %s twice: {%s}', (_, fields) => {
    expect(failing(entry(fields), 'DUPLICATE_KEY')).toThrow('"a"');
  });

  it.each(['[]', '[0]', '[0,1,1]', '[0,0,1]'])('may not have data_offsets of %s', (offsets) => {
    expect(failing(entry(`"dtype":"U8","shape":[1],"data_offsets":${offsets}`), 'INVALID_TENSOR_INFO')).toThrow(
      'not two integers',
    );
  });

  it.each(['null', '1', '"1"', '{}', 'true'])('may not have a shape or data_offsets of %s', (value) => {
    failing(entry(`"dtype":"U8","shape":${value},"data_offsets":[0,1]`), 'INVALID_TENSOR_INFO');
    failing(entry(`"dtype":"U8","shape":[1],"data_offsets":${value}`), 'INVALID_TENSOR_INFO');
  });

  it.each(['null', '1', '["U8"]', '{"U8":null}', 'true'])('may not have a dtype of %s', (value) => {
    failing(entry(`"dtype":${value},"shape":[1],"data_offsets":[0,1]`), 'INVALID_TENSOR_INFO');
  });

  it.each(['', 'u8', 'U8 ', 'U', 'U88', 'F8', 'F8_E4M3FN', 'F128', 'I4', 'bfloat16', 'U8\\u0000', '__proto__'])(
    'may not have the dtype "%s"',
    (dtype) => {
      failing(entry(`"dtype":"${dtype}","shape":[1],"data_offsets":[0,1]`), 'UNKNOWN_DTYPE');
    },
  );

  it('may have a dtype after any other, each spelled as a beginning of the next or not', () => {
    for (const first of DTYPES) {
      for (const second of DTYPES) {
        const members = [first, second].map(
          (dtype, k) => `"${k}":{"dtype":"${dtype}","shape":[0],"data_offsets":[0,0]}`,
        );
        const { header } = parse(withHeader(`{${members.join(',')}}`));
        expect([header.info('0').dtype, header.info('1').dtype]).toEqual([first, second]);
      }
    }
  });
});

describe('__metadata__', () => {
  it.each(['[]', '"a"', '1', 'true', 'false'])('may not be %s', (value) => {
    expect(failing(`{"__metadata__":${value}}`, 'INVALID_METADATA')).toThrow('__metadata__ is not an object');
  });

  it.each(['1', 'null', 'true', '[]', '{}', '["a"]'])('may not hold %s', (value) => {
    expect(failing(`{"__metadata__":{"k":${value}}}`, 'INVALID_METADATA')).toThrow('the value of "k" in __metadata__');
  });

  it.each([
    '{"__metadata__":{},"__metadata__":{}}',
    '{"__metadata__":null,"__metadata__":null}',
    '{"__metadata__":{},"\\u005f_metadata__":{}}',
    '{"__metadata__":{"k":"1","k":"1"}}',
    '{"__metadata__":{"k":"1","\\u006b":"2"}}',
  ])('may not stand twice, nor hold a key twice: %s', (header) => {
    failing(header, 'DUPLICATE_KEY');
  });

  it('keeps every key and value as it is', () => {
    const pairs = { '': '', __proto__: 'x', a: '\0\n"\\', é: '😀', '{"json":1}': '{"json":[]}' };
    const text = `{"__metadata__":{"__proto__":"x",${JSON.stringify(pairs).slice(1)}}`;
    expect(parse(withHeader(text)).metadata).toEqual(new Map([['__proto__', 'x'], ...Object.entries(pairs)]));
  });
});

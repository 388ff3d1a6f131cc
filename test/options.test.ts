// Owns the options: their defaults, and that anything else than the allowed is refused with its name and value.
// Refuses to open a file.

import { afterEach, describe, expect, it } from 'vitest';
import { SafeTensorsError } from '../src/index.js';
import { type OpenOptions, resolveOptions } from '../src/options.js';

const { SAFETENSORS_BACKEND } = process.env;

function setBackend(value: string | undefined): void {
  if (value === undefined) delete process.env.SAFETENSORS_BACKEND;
  else process.env.SAFETENSORS_BACKEND = value;
}

afterEach(() => setBackend(SAFETENSORS_BACKEND));

/** What a caller without types can pass. */
function resolve(options: unknown): unknown {
  return resolveOptions(options as OpenOptions);
}

const DEFAULTS = { backend: 'auto', protection: 'copy-on-write', misaligned: 'copy', maxHeaderLength: 100_000_000 };

describe('resolveOptions', () => {
  it.each([
    undefined,
    {},
    { backend: undefined, protection: undefined, misaligned: undefined, maxHeaderLength: undefined },
    { other: 1 },
  ])('fills in the defaults of %j', (options) => {
    setBackend(undefined);
    expect(resolve(options)).toEqual(DEFAULTS);
  });

  it.each([
    { backend: 'mmap' },
    { backend: 'read' },
    { protection: 'read-only' },
    { misaligned: 'view' },
    { misaligned: 'error' },
    { maxHeaderLength: 0 },
    { maxHeaderLength: 2 ** 31 - 1 },
  ])('takes %j', (options) => {
    setBackend(undefined);
    expect(resolve(options)).toEqual({ ...DEFAULTS, ...options });
  });

  it.each<[unknown, RegExp]>([
    [null, /options are an object, not null/],
    ['read', /options are an object, not string/],
    [7, /options are an object, not number/],
    [{ backend: 'MMAP' }, /backend is one of "mmap", "read", not "MMAP"/],
    [{ backend: 'memory' }, /not "memory"/],
    [{ backend: 'auto' }, /not "auto"/],
    [{ backend: '' }, /not ""/],
    [{ backend: null }, /not null/],
    [{ backend: Symbol('mmap') }, /not Symbol\(mmap\)/],
    [{ backend: { toString: () => 'mmap' } }, /backend is one of/],
    [{ backend: ['mmap'] }, /backend is one of/],
    [{ protection: 'write' }, /protection is one of "copy-on-write", "read-only", not "write"/],
    [{ protection: true }, /not true/],
    [{ misaligned: 'throw' }, /misaligned is one of "copy", "view", "error", not "throw"/],
    [{ misaligned: 1n }, /not 1/],
    [{ maxHeaderLength: -1 }, /maxHeaderLength is an integer from 0 to 2147483647, not -1/],
    [{ maxHeaderLength: 2 ** 31 }, /not 2147483648/],
    [{ maxHeaderLength: 1.5 }, /not 1\.5/],
    [{ maxHeaderLength: Number.NaN }, /not NaN/],
    [{ maxHeaderLength: Number.POSITIVE_INFINITY }, /not Infinity/],
    [{ maxHeaderLength: '100' }, /not "?100"?$/],
    [{ maxHeaderLength: 100n }, /not "?100"?$/],
    [{ maxHeaderLength: null }, /not null/],
    [{ maxHeaderLength: Symbol('x') }, /not Symbol\(x\)/],
  ])('refuses %o', (options, message) => {
    expect(() => resolve(options)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
    expect(() => resolve(options)).toThrow(message);
  });

  it.each(['backend', 'protection', 'misaligned', 'maxHeaderLength'])(
    'refuses a value of %s that has no text, with the same error',
    (name) => {
      expect(() => resolve({ [name]: Object.create(null) })).toThrow(SafeTensorsError);
    },
  );
});

describe('SAFETENSORS_BACKEND', () => {
  it.each([
    [undefined, 'auto'],
    ['', 'auto'],
    ['mmap', 'mmap'],
    ['read', 'read'],
  ])('of %j gives %s', (value, backend) => {
    setBackend(value);
    expect(resolve({})).toMatchObject({ backend });
  });

  it('gives way to the option', () => {
    setBackend('read');
    expect(resolve({ backend: 'mmap' })).toMatchObject({ backend: 'mmap' });
  });

  it.each(['Read', 'auto', 'memory', '0'])('of %j is refused, naming the variable', (value) => {
    setBackend(value);
    expect(() => resolve({})).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
    expect(() => resolve({})).toThrow(`SAFETENSORS_BACKEND is one of "mmap", "read", not "${value}"`);
  });
});

// Holds the JavaScript conversion against the table of NumPy's and ml_dtypes' values, and against exact arithmetic.
// The native kernels meet the same table in native/convert_test.cc.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { convertToFloat32, isConvertible } from '../src/convert.js';
import { bitsOf, DTYPES, type Dtype } from '../src/dtype.js';
import { readFloat32Table } from './float32_table.js';

const table = readFloat32Table();

/** Converts from a source at `shift` bytes past an aligned address; the bits of the result. */
function convert(dtype: Dtype, bytes: Uint8Array, count: number, shift = 0): Uint32Array {
  const source = new Uint8Array(shift + bytes.byteLength);
  source.set(bytes, shift);
  const target = new Float32Array(count);
  convertToFloat32(dtype, source.subarray(shift), target);
  return new Uint32Array(target.buffer);
}

function firstDifference(got: Uint32Array, expected: Uint32Array): string | undefined {
  const at = got.findIndex((bits, i) => bits !== expected[i]);
  return at < 0 ? undefined : `[${at}] is 0x${got[at]!.toString(16)}, not 0x${expected[at]!.toString(16)}`;
}

describe('the table', () => {
  it('has every dtype that converts, the narrow ones in full', () => {
    expect(new Set(table.map(({ dtype }) => dtype))).toEqual(new Set(DTYPES.filter(isConvertible)));
    for (const { dtype, count } of table) {
      if (bitsOf(dtype) <= 16) expect(count).toBe(2 ** bitsOf(dtype));
    }
  });

  for (const { dtype, bytes, count, expected } of table) {
    it(`${dtype}: every value, bit for bit`, () => {
      expect(firstDifference(convert(dtype, bytes, count), expected)).toBeUndefined();
    });

    it(`${dtype}: from any address, of any length`, () => {
      const bits = bitsOf(dtype);
      // A part of a packed tensor begins where an element begins a byte.
      const step = bits < 8 ? 4 : 1;
      for (let length = 0; length <= Math.min(70, count); length++) {
        for (let shift = 0; shift < 8; shift++) {
          const first = ((length * 8 + shift) * 12) % (Math.floor((count - length) / step) * step + 1);
          const begin = first - (first % step);
          const part = bytes.subarray((begin * bits) / 8, Math.ceil(((begin + length) * bits) / 8));
          const wanted = expected.subarray(begin, begin + length);
          expect(firstDifference(convert(dtype, part, length, shift), wanted)).toBeUndefined();
        }
      }
    });
  }

  it('converts more than one piece from an address between two elements', () => {
    const { bytes, count, expected } = table.find(({ dtype }) => dtype === 'F16')!;
    expect(firstDifference(convert('F16', bytes, count, 1), expected)).toBeUndefined();
  });
});

describe('64-bit integers', () => {
  // The result is the right one when it is nearest to the integer among its neighbours, and even where two are.
  function roundedByBigInt(value: bigint): number {
    const negative = value < 0n;
    const magnitude = negative ? -value : value;
    const excess = magnitude.toString(2).length - 24;
    if (excess <= 0) return Number(value);
    const unit = 1n << BigInt(excess);
    const remainder = magnitude % unit;
    const below = magnitude - remainder;
    const up = remainder * 2n > unit || (remainder * 2n === unit && (below / unit) % 2n === 1n);
    const rounded = Number(up ? below + unit : below);
    return negative ? -rounded : rounded;
  }

  const nearTie = fc
    .tuple(
      fc.bigInt({ min: 1n, max: (1n << 24n) - 1n }),
      fc.integer({ min: 0, max: 39 }),
      fc.bigInt({ min: -1n, max: 1n }),
    )
    .map(([mantissa, shift, nudge]) => (((mantissa << 1n) | 1n) << BigInt(shift)) + nudge);

  it('I64 rounds once', () => {
    fc.assert(
      fc.property(fc.oneof(fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n }), nearTie), (value) => {
        const signed = BigInt.asIntN(64, value);
        const target = new Float32Array(1);
        convertToFloat32('I64', new Uint8Array(BigInt64Array.of(signed).buffer), target);
        expect(target[0]).toBe(roundedByBigInt(signed));
      }),
    );
  });

  it('U64 rounds once', () => {
    fc.assert(
      fc.property(fc.oneof(fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }), nearTie), (value) => {
        const unsigned = BigInt.asUintN(64, value);
        const target = new Float32Array(1);
        convertToFloat32('U64', new Uint8Array(BigUint64Array.of(unsigned).buffer), target);
        expect(target[0]).toBe(roundedByBigInt(unsigned));
      }),
    );
  });
});

describe('bounds', () => {
  it('writes its target and nothing beside it', () => {
    for (const { dtype, bytes } of table) {
      const memory = new Float32Array(20).fill(7);
      convertToFloat32(dtype, bytes.subarray(0, bitsOf(dtype)), memory.subarray(6, 14));
      expect([...memory.subarray(0, 6), ...memory.subarray(14)]).toEqual(new Array(12).fill(7));
    }
  });

  it('refuses complex numbers', () => {
    expect(isConvertible('C64')).toBe(false);
    expect(() => convertToFloat32('C64', new Uint8Array(8), new Float32Array(1))).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', message: expect.stringContaining('"C64"') }),
    );
  });

  it.each([
    ['F16', 4, 1],
    ['F16', 3, 1],
    ['F4', 1, 4],
    ['F6_E2M3', 4, 4],
    ['I64', 8, 2],
  ] as const)('refuses %s of %i bytes for %i elements', (dtype, bytes, elements) => {
    expect(() => convertToFloat32(dtype, new Uint8Array(bytes), new Float32Array(elements))).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.stringMatching(new RegExp(`${bytes} bytes.* ${elements} elements`)),
      }),
    );
  });
});

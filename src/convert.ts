// Owns the conversion of every number dtype to float32 in JavaScript: the twin of native/convert, with the same bits.
// Bytes in, floats out: it knows dtypes, not tensors or files, and refuses complex numbers.
import { bitsOf, type Dtype, type Encoding, encodingOf } from './dtype.js';
import { quote, SafeTensorsError } from './errors.js';

const INFINITY_BITS = 0x7f800000;
const NAN_BITS = 0x7fc00000;

/** Bytes converted at a time where the source is not aligned to its elements and passes through a copy. */
const PIECE_BYTES = 64 * 1024;

/** Whether `convertToFloat32` takes the dtype: all but the complex one. */
export function isConvertible(dtype: Dtype): boolean {
  return encodingOf(dtype).kind !== 'complex';
}

/**
 * Fills `target` with the elements of `source`: exact where float32 holds the value, else rounded to nearest, ties to
 * even. NaNs keep sign, and in F16, BF16 and F64 payload; those of 8 bits become the quiet NaN 0x7FC00000. BOOL is 0 or 1.
 * `source` may start at any address and is packed low bits first; it must not overlap `target`.
 * @throws INVALID_ARGUMENT for a complex dtype, and when the bytes are not exactly `target.length` elements
 */
export function convertToFloat32(dtype: Dtype, source: Uint8Array, target: Float32Array): void {
  const encoding = encodingOf(dtype);
  const bits = bitsOf(dtype);
  if (encoding.kind === 'complex') {
    throw new SafeTensorsError('INVALID_ARGUMENT', `${quote(dtype)} is complex: it has no conversion to float32`);
  }
  if (source.byteLength !== Math.ceil((target.length * bits) / 8)) {
    throw new SafeTensorsError(
      'INVALID_ARGUMENT',
      `${source.byteLength} bytes are not the ${target.length} elements of ${quote(dtype)} that the target has room for`,
    );
  }
  if (bits <= 8) convertNarrow(dtype, encoding, source, target);
  else if (source.byteOffset % (bits / 8) === 0) convertWide(dtype, encoding, source, target);
  else convertThroughCopy(dtype, encoding, source, target);
}

/** Elements whose address is no multiple of their size, for which there is no typed array. */
function convertThroughCopy(dtype: Dtype, encoding: Encoding, source: Uint8Array, target: Float32Array): void {
  const width = bitsOf(dtype) / 8;
  const piece = new Uint8Array(Math.min(PIECE_BYTES, source.byteLength));
  for (let begin = 0; begin < source.byteLength; begin += piece.byteLength) {
    const part = source.subarray(begin, begin + piece.byteLength);
    piece.set(part);
    const converted = target.subarray(begin / width, (begin + part.byteLength) / width);
    convertWide(dtype, encoding, piece.subarray(0, part.byteLength), converted);
  }
}

/** Elements of 8, 6 and 4 bits: every pattern is looked up. */
function convertNarrow(dtype: Dtype, encoding: Encoding, source: Uint8Array, target: Float32Array): void {
  const table = tableOf(dtype, encoding);
  const out = bitsView(target);
  const length = out.length;
  switch (bitsOf(dtype)) {
    case 8:
      lookUpBytes(source, table, out);
      return;
    case 6:
      // Element i begins at bit 6i. A byte past the end, which the last element does not reach into, reads as nothing.
      for (let i = 0; i < length; i++) {
        const at = (i >> 2) * 3 + (((i & 3) * 6) >> 3);
        out[i] = table[((source[at]! | (source[at + 1]! << 8)) >> (((i & 3) * 6) & 7)) & 63]!;
      }
      return;
    default:
      for (let i = 0; i < length; i++) out[i] = table[(source[i >> 1]! >> ((i & 1) << 2)) & 15]!;
  }
}

/** Elements of 16, 32 and 64 bits, aligned. */
function convertWide(dtype: Dtype, encoding: Encoding, source: Uint8Array, target: Float32Array): void {
  const bits = bitsOf(dtype);
  if (encoding.kind === 'integer') {
    if (bits === 64) convertLongs(source, encoding.signed, target);
    else convertIntegers(source, bits, encoding.signed, target);
  } else {
    if (bits === 64) convertDoubles(source, target);
    else if (bits === 32) bitsView(target).set(new Uint32Array(source.buffer, source.byteOffset, target.length));
    else convertHalves(dtype, encoding, source, target);
  }
}

function convertIntegers(source: Uint8Array, bits: number, signed: boolean, target: Float32Array): void {
  const integers = integersOver(source, bits, signed);
  // The engine rounds to float32 as it stores.
  for (let i = 0; i < target.length; i++) target[i] = integers[i]!;
}

function integersOver({ buffer, byteOffset, byteLength }: Uint8Array, bits: number, signed: boolean) {
  if (bits === 16) {
    const length = byteLength / 2;
    return signed ? new Int16Array(buffer, byteOffset, length) : new Uint16Array(buffer, byteOffset, length);
  }
  const length = byteLength / 4;
  return signed ? new Int32Array(buffer, byteOffset, length) : new Uint32Array(buffer, byteOffset, length);
}

function convertHalves(dtype: Dtype, encoding: Encoding, source: Uint8Array, target: Float32Array): void {
  const halves = new Uint16Array(source.buffer, source.byteOffset, target.length);
  const out = bitsView(target);
  // An exponent of 8 bits is float32's own: the element is its upper half.
  if (encoding.kind === 'float' && encoding.exponent === 8) shiftHalves(halves, out);
  else lookUpHalves(halves, tableOf(dtype, encoding), out);
}

// The loops that weights go through. Four elements a turn are 1.7 times as fast as one, and each loop keeps to one
// class of array, without which the engine would ask for the class at every element.

function lookUpBytes(bytes: Uint8Array, table: Uint32Array, out: Uint32Array): void {
  const whole = bytes.length - (bytes.length % 4);
  for (let i = 0; i < whole; i += 4) {
    out[i] = table[bytes[i]!]!;
    out[i + 1] = table[bytes[i + 1]!]!;
    out[i + 2] = table[bytes[i + 2]!]!;
    out[i + 3] = table[bytes[i + 3]!]!;
  }
  for (let i = whole; i < bytes.length; i++) out[i] = table[bytes[i]!]!;
}

function lookUpHalves(halves: Uint16Array, table: Uint32Array, out: Uint32Array): void {
  const whole = halves.length - (halves.length % 4);
  for (let i = 0; i < whole; i += 4) {
    out[i] = table[halves[i]!]!;
    out[i + 1] = table[halves[i + 1]!]!;
    out[i + 2] = table[halves[i + 2]!]!;
    out[i + 3] = table[halves[i + 3]!]!;
  }
  for (let i = whole; i < halves.length; i++) out[i] = table[halves[i]!]!;
}

function shiftHalves(halves: Uint16Array, out: Uint32Array): void {
  const whole = halves.length - (halves.length % 4);
  for (let i = 0; i < whole; i += 4) {
    out[i] = halves[i]! << 16;
    out[i + 1] = halves[i + 1]! << 16;
    out[i + 2] = halves[i + 2]! << 16;
    out[i + 3] = halves[i + 3]! << 16;
  }
  for (let i = whole; i < halves.length; i++) out[i] = halves[i]! << 16;
}

/** A NaN loses its payload on its way through a JavaScript number, so that its bits are moved by hand. */
function convertDoubles(source: Uint8Array, target: Float32Array): void {
  const out = bitsView(target);
  const doubles = new Float64Array(source.buffer, source.byteOffset, target.length);
  const words = new Uint32Array(source.buffer, source.byteOffset, target.length * 2);
  for (let i = 0; i < target.length; i++) {
    const value = doubles[i]!;
    if (Number.isNaN(value)) {
      const high = words[2 * i + 1]!;
      out[i] = (high & 0x80000000) | NAN_BITS | ((high & 0xfffff) << 3) | (words[2 * i]! >>> 29);
    } else {
      target[i] = value;
    }
  }
}

/** 64-bit integers, without BigInt and without rounding first to a double and then to a float. */
function convertLongs(source: Uint8Array, signed: boolean, target: Float32Array): void {
  const words = new Uint32Array(source.buffer, source.byteOffset, target.length * 2);
  for (let i = 0; i < target.length; i++) {
    let low = words[2 * i]!;
    let high = words[2 * i + 1]!;
    const negative = signed && high >= 0x80000000;
    if (negative) {
      low = -low >>> 0;
      high = (low === 0 ? -high : ~high) >>> 0;
    }
    // Past 53 bits: the lowest 11 are far below what a float keeps, and only whether any is set can matter.
    if (high >= 0x200000) low = ((low & 0xfffff800) | ((low & 0x7ff) === 0 ? 0 : 0x800)) >>> 0;
    const magnitude = high * 0x100000000 + low;
    target[i] = negative ? -magnitude : magnitude;
  }
}

const tables = new Map<Dtype, Uint32Array>();

/** The float32 bits of every pattern of a dtype of at most 16 bits, made when first asked for. */
function tableOf(dtype: Dtype, encoding: Encoding): Uint32Array {
  let table = tables.get(dtype);
  if (table === undefined) {
    const bits = bitsOf(dtype);
    table = new Uint32Array(2 ** bits);
    for (let pattern = 0; pattern < table.length; pattern++) table[pattern] = float32Bits(encoding, bits, pattern);
    tables.set(dtype, table);
  }
  return table;
}

const oneFloat = new Float32Array(1);
const oneWord = new Uint32Array(oneFloat.buffer);

function bitsOfNumber(value: number): number {
  oneFloat[0] = value;
  return oneWord[0]!;
}

function float32Bits(encoding: Encoding, bits: number, pattern: number): number {
  switch (encoding.kind) {
    case 'float':
      return decodeFloat(encoding, pattern);
    case 'power-of-two':
      return pattern === 255 ? NAN_BITS : bitsOfNumber(2 ** (pattern - 127));
    case 'integer':
      return bitsOfNumber(encoding.signed && pattern >= 2 ** (bits - 1) ? pattern - 2 ** bits : pattern);
    default:
      return bitsOfNumber(pattern === 0 ? 0 : 1);
  }
}

function decodeFloat(float: Encoding & { kind: 'float' }, pattern: number): number {
  const steps = 2 ** float.mantissa;
  const largest = 2 ** float.exponent - 1;
  const mantissa = pattern % steps;
  const exponent = Math.floor(pattern / steps) & largest;
  const negative = pattern >= steps * (largest + 1);
  const sign = negative ? 0x80000000 : 0;
  if (float.special === 'negative-zero' && negative && exponent === 0 && mantissa === 0) return sign + NAN_BITS;
  if (exponent === largest) {
    if (float.special === 'all-ones' && mantissa === steps - 1) return sign + NAN_BITS;
    if (float.special === 'ieee') return sign + INFINITY_BITS + mantissa * 2 ** (23 - float.mantissa);
    if (float.special === 'ieee-without-payload') return sign + (mantissa === 0 ? INFINITY_BITS : NAN_BITS);
  }
  const leading = exponent === 0 ? 0 : steps;
  const magnitude = (leading + mantissa) * 2 ** (Math.max(exponent, 1) - float.bias - float.mantissa);
  return sign + bitsOfNumber(magnitude);
}

function bitsView(floats: Float32Array): Uint32Array {
  return new Uint32Array(floats.buffer, floats.byteOffset, floats.length);
}

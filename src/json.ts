// Owns strict JSON (RFC 8259) over bytes that are known to be valid UTF-8: skipping values, decoding strings.
// Refuses lone surrogates, repeated keys, numbers that a double cannot hold, and nesting deeper than MAX_DEPTH.
// Functions take a position and return the position after what they read; past the end a byte reads as undefined.

import { quote, SafeTensorsError } from './errors.js';

/** Containers inside one another, the outermost included: what the reference reader allows. */
export const MAX_DEPTH = 127;

export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const BACKSLASH = 0x5c;
export const OPEN_BRACKET = 0x5b;
export const CLOSE_BRACKET = 0x5d;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The error of a text that is not JSON, naming the place and what stands there. */
export function jsonFault(bytes: Uint8Array, position: number, expected: string): SafeTensorsError {
  const byte = bytes[position];
  const found =
    byte === undefined
      ? 'the end of the text'
      : byte > 0x20 && byte < 0x7f
        ? `'${String.fromCharCode(byte)}'`
        : `byte 0x${byte.toString(16).padStart(2, '0')}`;
  return new SafeTensorsError(
    'INVALID_HEADER_JSON',
    `not valid JSON: expected ${expected} at byte ${position} of ${bytes.length}, found ${found}`,
  );
}

export function skipWhitespace(bytes: Uint8Array, position: number): number {
  let i = position;
  for (;;) {
    const c = bytes[i]!;
    if (c !== 0x20 && c !== 0x0a && c !== 0x0d && c !== 0x09) return i;
    i++;
  }
}

/** Skips one expected byte and the white space before it. */
export function expectByte(bytes: Uint8Array, position: number, byte: number): number {
  const i = skipWhitespace(bytes, position);
  if (bytes[i] !== byte) throw jsonFault(bytes, i, `'${String.fromCharCode(byte)}'`);
  return i + 1;
}

function hexDigits(bytes: Uint8Array, position: number): number {
  let value = 0;
  for (let i = position; i < position + 4; i++) {
    const c = bytes[i]!;
    let digit: number;
    if (c >= 0x30 && c <= 0x39) digit = c - 0x30;
    else if (c >= 0x41 && c <= 0x46) digit = c - 0x37;
    else if (c >= 0x61 && c <= 0x66) digit = c - 0x57;
    else throw jsonFault(bytes, i, 'four hexadecimal digits');
    value = (value << 4) | digit;
  }
  return value;
}

/** Skips an escape, from its backslash. */
function skipEscape(bytes: Uint8Array, position: number): number {
  switch (bytes[position + 1]) {
    case QUOTE:
    case BACKSLASH:
    case 0x2f: // /
    case 0x62: // b
    case 0x66: // f
    case 0x6e: // n
    case 0x72: // r
    case 0x74: // t
      return position + 2;
    case 0x75: {
      const unit = hexDigits(bytes, position + 2);
      if (unit < 0xd800 || unit > 0xdfff) return position + 6;
      const paired = unit < 0xdc00 && bytes[position + 6] === BACKSLASH && bytes[position + 7] === 0x75;
      const low = paired ? hexDigits(bytes, position + 8) : 0;
      if (low < 0xdc00 || low > 0xdfff) throw jsonFault(bytes, position, 'no lone surrogate');
      return position + 12;
    }
    default:
      throw jsonFault(bytes, position + 1, 'an escape');
  }
}

/** Skips a string, from its opening quote. */
export function skipString(bytes: Uint8Array, position: number): number {
  if (bytes[position] !== QUOTE) throw jsonFault(bytes, position, 'a string');
  let i = position + 1;
  for (;;) {
    const c = bytes[i]!;
    if (c === QUOTE) return i + 1;
    if (c === BACKSLASH) i = skipEscape(bytes, i);
    else if (c >= 0x20) i++;
    else throw jsonFault(bytes, i, 'no control character in a string');
  }
}

/** The value of the string that skipString found between two positions, quotes included. */
export function decodeString(bytes: Uint8Array, begin: number, end: number): string {
  const text = decoder.decode(bytes.subarray(begin + 1, end - 1));
  // The escapes were checked by skipString, so JSON.parse cannot fail and never sees more than one string.
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
}

function isDigit(c: number | undefined): boolean {
  return c !== undefined && c >= 0x30 && c <= 0x39;
}

function skipDigits(bytes: Uint8Array, position: number): number {
  let i = position;
  if (!isDigit(bytes[i])) throw jsonFault(bytes, i, 'a digit');
  while (isDigit(bytes[i])) i++;
  return i;
}

/** Skips a number. */
function skipNumber(bytes: Uint8Array, position: number): number {
  let i = position;
  if (bytes[i] === 0x2d) i++;
  i = bytes[i] === 0x30 ? i + 1 : skipDigits(bytes, i);
  if (bytes[i] === 0x2e) i = skipDigits(bytes, i + 1);
  if (bytes[i] === 0x65 || bytes[i] === 0x45) {
    i++;
    if (bytes[i] === 0x2b || bytes[i] === 0x2d) i++;
    i = skipDigits(bytes, i);
  }
  // No double is beyond 1.8e308, so only a long text or one with an exponent can be too large.
  const text = decoder.decode(bytes.subarray(position, i));
  if (!Number.isFinite(Number(text))) throw jsonFault(bytes, position, 'a number below 1.8e308');
  return i;
}

function skipLiteral(bytes: Uint8Array, position: number, literal: string): number {
  for (let k = 0; k < literal.length; k++) {
    if (bytes[position + k] !== literal.charCodeAt(k)) throw jsonFault(bytes, position + k, literal);
  }
  return position + literal.length;
}

/** Keys of one object, each allowed once. */
export class KeySet {
  readonly #keys = new Set<string>();

  /** Throws DUPLICATE_KEY for a key that is there already. */
  add(key: string, where: string): void {
    if (this.#keys.has(key))
      throw new SafeTensorsError('DUPLICATE_KEY', `the key ${quote(key)} stands twice in ${where}`);
    this.#keys.add(key);
  }
}

/** Skips an array or an object. `depth` counts the containers around it. */
function skipContainer(bytes: Uint8Array, position: number, depth: number): number {
  if (depth >= MAX_DEPTH) throw jsonFault(bytes, position, `no more than ${MAX_DEPTH} levels of nesting`);
  const isObject = bytes[position] === OPEN_BRACE;
  const close = isObject ? CLOSE_BRACE : CLOSE_BRACKET;
  const keys = isObject ? new KeySet() : undefined;
  let i = skipWhitespace(bytes, position + 1);
  if (bytes[i] === close) return i + 1;
  for (;;) {
    if (keys !== undefined) {
      const end = skipString(bytes, i);
      keys.add(decodeString(bytes, i, end), `the object at byte ${position}`);
      i = skipWhitespace(bytes, expectByte(bytes, end, COLON));
    }
    i = skipWhitespace(bytes, skipValue(bytes, i, depth + 1));
    if (bytes[i] === close) return i + 1;
    if (bytes[i] !== COMMA) throw jsonFault(bytes, i, `',' or '${String.fromCharCode(close)}'`);
    i = skipWhitespace(bytes, i + 1);
  }
}

/** Skips any value, from its first byte. `depth` counts the containers around it. */
export function skipValue(bytes: Uint8Array, position: number, depth: number): number {
  const c = bytes[position];
  switch (c) {
    case QUOTE:
      return skipString(bytes, position);
    case OPEN_BRACE:
    case OPEN_BRACKET:
      return skipContainer(bytes, position, depth);
    case 0x74:
      return skipLiteral(bytes, position, 'true');
    case 0x66:
      return skipLiteral(bytes, position, 'false');
    case 0x6e:
      return skipLiteral(bytes, position, 'null');
    default:
      if (c === 0x2d || isDigit(c)) return skipNumber(bytes, position);
      throw jsonFault(bytes, position, 'a value');
  }
}

/**
 * Walks the members of an object from its brace: `visit` gets the key's position (quotes included) and the position of
 * the value, and returns the position after the value. Does not look for repeated keys.
 */
export function walkObject(
  bytes: Uint8Array,
  position: number,
  visit: (keyBegin: number, keyEnd: number, value: number) => number,
): number {
  let i = skipWhitespace(bytes, expectByte(bytes, position, OPEN_BRACE));
  if (bytes[i] === CLOSE_BRACE) return i + 1;
  for (;;) {
    const keyBegin = i;
    const keyEnd = skipString(bytes, i);
    i = skipWhitespace(bytes, expectByte(bytes, keyEnd, COLON));
    i = skipWhitespace(bytes, visit(keyBegin, keyEnd, i));
    if (bytes[i] === CLOSE_BRACE) return i + 1;
    if (bytes[i] !== COMMA) throw jsonFault(bytes, i, "',' or '}'");
    i = skipWhitespace(bytes, i + 1);
  }
}

/** Refuses anything but white space up to the end. */
export function expectEnd(bytes: Uint8Array, position: number): void {
  const i = skipWhitespace(bytes, position);
  if (i !== bytes.length) throw jsonFault(bytes, i, 'nothing more');
}

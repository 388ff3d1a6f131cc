// Owns the one pass over the bytes of a header: from JSON to columns, every rule of the grammar and of an entry checked.
// Refuses what is not strict JSON of the format's shape; where tensors lie is layout.ts's to judge.
//
// The common spelling of an entry is read inline; whatever is spelled otherwise (white space apart) goes through json.ts.

import { Buffer, isUtf8 } from 'node:buffer';

import { NAME_ROOM, TensorColumns } from './columns.js';
import { DTYPES, dtypeCode } from './dtype.js';
import { type ErrorCode, quote, SafeTensorsError } from './errors.js';
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  decodeString,
  expectByte,
  expectEnd,
  jsonFault,
  KeySet,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  skipString,
  skipValue,
  skipWhitespace,
} from './json.js';
import { METADATA_KEY, readMetadata } from './metadata.js';
import { HASH_PRIME, HASH_SEED, hashBytes } from './names.js';

/** Fields of an entry, as bits of those seen. */
const DTYPE = 1;
const SHAPE = 2;
const OFFSETS = 4;
const ALL_FIELDS = DTYPE | SHAPE | OFFSETS;

const MAX_U64 = 2n ** 64n - 1n;

const encoder = new TextEncoder();

export interface ScannedHeader {
  readonly columns: TensorColumns;
  readonly metadata: ReadonlyMap<string, string>;
}

/**
 * Scans a header (without its 8 bytes of length); keeps and changes none of its bytes. Throws INVALID_HEADER_* and the errors of entries and metadata.
 */
export function scanHeader(bytes: Uint8Array): ScannedHeader {
  if (!isUtf8(bytes))
    throw new SafeTensorsError('INVALID_HEADER_UTF8', `the header (${bytes.length} bytes) is not valid UTF-8`);
  const scanner = new Scanner(bytes);
  Scanner.resident ??= scanner;
  return scanner.scan();
}

class Scanner {
  // Kept for the reason that header.ts gives for its own.
  static resident: Scanner | undefined;

  readonly #bytes: Uint8Array;
  readonly #columns: TensorColumns;
  #metadata: Map<string, string> | undefined;
  /** Code of the dtype that `#dtypeField` read last; most tensors of a file share one. */
  #lastDtype = -1;
  /** Value that `#integer` read last. */
  #value = 0;
  /** Whether the entry has a number that a double does not hold. */
  #hasHuge = false;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#columns = new TensorColumns();
  }

  scan(): ScannedHeader {
    let i = skipWhitespace(this.#bytes, expectByte(this.#bytes, 0, OPEN_BRACE));
    if (this.#bytes[i] === CLOSE_BRACE) i++;
    else i = this.#members(i);
    expectEnd(this.#bytes, i);
    return { columns: this.#columns, metadata: this.#metadata ?? new Map() };
  }

  /** Reads all members of the header's object, from the first key. */
  #members(position: number): number {
    const columns = this.#columns;
    const bytes = this.#bytes;
    let { names } = columns;
    let i = position;
    for (;;) {
      if (bytes[i] !== QUOTE) throw jsonFault(bytes, i, 'a string');
      const nameBegin = columns.nameBegin[columns.count]!;
      if (names.length - nameBegin < NAME_ROOM) {
        columns.growNames(i / bytes.length, NAME_ROOM);
        names = columns.names;
      }
      let nameEnd = nameBegin;
      let hash = HASH_SEED;
      let c = bytes[++i]!;
      while (c !== QUOTE && c !== BACKSLASH && c >= 0x20) {
        names[nameEnd++] = c;
        hash = Math.imul(hash ^ c, HASH_PRIME);
        c = bytes[++i]!;
      }
      if (c !== QUOTE || nameEnd > names.length) {
        // Escaped, or longer than there was room for: what was written past the end went nowhere.
        const quote = i - (nameEnd - nameBegin) - 1;
        i = skipString(bytes, quote) - 1;
        nameEnd = this.#unusualName(quote, i + 1, nameBegin);
        names = columns.names;
        hash = hashBytes(names, nameBegin, nameEnd);
      }
      i++;
      i = bytes[i] === COLON ? i + 1 : expectByte(bytes, i, COLON);
      if (bytes[i]! <= 0x20) i = skipWhitespace(bytes, i);

      if (nameEnd - nameBegin === METADATA_KEY.length && isMetadataKey(names, nameBegin)) {
        i = this.#metadataValue(i);
      } else {
        if (columns.count === columns.capacity) columns.grow(i / bytes.length);
        const row = columns.count;
        columns.nameBegin[row + 1] = nameEnd;
        columns.hash[row] = hash;
        const entry = i;
        this.#hasHuge = false;
        i = this.#entry(i, row);
        if (this.#hasHuge) columns.huge.set(row, entry);
        columns.count = row + 1;
      }

      c = bytes[i]!;
      if (c <= 0x20) {
        i = skipWhitespace(bytes, i);
        c = bytes[i]!;
      }
      if (c === CLOSE_BRACE) return i + 1;
      if (c !== COMMA) throw jsonFault(bytes, i, "',' or '}'");
      i++;
      if (bytes[i]! <= 0x20) i = skipWhitespace(bytes, i);
    }
  }

  /** Reads one tensor's entry into a row. */
  #entry(position: number, row: number): number {
    const bytes = this.#bytes;
    if (bytes[position] !== OPEN_BRACE) {
      skipValue(bytes, position, 1); // not JSON at all is the graver fault
      throw this.#entryFault('INVALID_TENSOR_INFO', row, 'is not described by an object');
    }
    let seen = 0;
    let ignored: KeySet | undefined;
    let i = position + 1;
    if (bytes[i]! <= 0x20) i = skipWhitespace(bytes, i);
    if (bytes[i] === CLOSE_BRACE) throw this.#missing(row, seen);
    for (;;) {
      const key = i;
      let field = fieldAt(bytes, i);
      if (field !== 0) {
        i += field === OFFSETS ? 14 : 7;
      } else {
        i = skipString(bytes, i);
        field = this.#escapedField(key, i);
      }
      const keyEnd = i;
      i = bytes[i] === COLON ? i + 1 : expectByte(bytes, i, COLON);
      if (bytes[i]! <= 0x20) i = skipWhitespace(bytes, i);

      if ((seen & field) !== 0) {
        throw this.#entryFault('DUPLICATE_KEY', row, `has the field ${decodeString(bytes, key, keyEnd)} twice`);
      }
      seen |= field;
      if (field === DTYPE) i = this.#dtypeField(i, row);
      else if (field === SHAPE) i = this.#shapeField(i, row);
      else if (field === OFFSETS) i = this.#offsetsField(i, row);
      else {
        ignored ??= new KeySet();
        ignored.add(decodeString(bytes, key, keyEnd), `the entry of tensor ${quote(this.#name(row))}`);
        i = skipValue(bytes, i, 2);
      }

      let c = bytes[i]!;
      if (c <= 0x20) {
        i = skipWhitespace(bytes, i);
        c = bytes[i]!;
      }
      if (c === CLOSE_BRACE) break;
      if (c !== COMMA) throw jsonFault(bytes, i, "',' or '}'");
      i++;
      if (bytes[i]! <= 0x20) i = skipWhitespace(bytes, i);
    }
    if (seen !== ALL_FIELDS) throw this.#missing(row, seen);
    return i + 1;
  }

  /** The field that a key with escapes spells, or 0. */
  #escapedField(begin: number, end: number): number {
    switch (decodeString(this.#bytes, begin, end)) {
      case 'dtype':
        return DTYPE;
      case 'shape':
        return SHAPE;
      case 'data_offsets':
        return OFFSETS;
      default:
        return 0;
    }
  }

  #dtypeField(position: number, row: number): number {
    const bytes = this.#bytes;
    if (this.#lastDtype >= 0) {
      const name = DTYPES[this.#lastDtype]!;
      let k = 0;
      while (k < name.length && bytes[position + 1 + k] === name.charCodeAt(k)) k++;
      if (k === name.length && bytes[position] === QUOTE && bytes[position + 1 + k] === QUOTE) {
        this.#columns.dtype[row] = this.#lastDtype;
        return position + 2 + k;
      }
    }
    if (bytes[position] !== QUOTE) {
      skipValue(bytes, position, 2);
      throw this.#entryFault('INVALID_TENSOR_INFO', row, 'has a dtype that is not a string');
    }
    const end = skipString(bytes, position);
    const name = decodeString(bytes, position, end);
    const code = dtypeCode(name);
    if (code < 0)
      throw this.#entryFault('UNKNOWN_DTYPE', row, `has the dtype ${quote(name)}, which is none of the format's`);
    this.#lastDtype = code;
    this.#columns.dtype[row] = code;
    return end;
  }

  #shapeField(position: number, row: number): number {
    const { shape, shapes } = this.#columns;
    const bytes = this.#bytes;
    let i = this.#arrayStart(position, row, 'shape');
    if (bytes[i] !== CLOSE_BRACKET) {
      for (;;) {
        i = this.#integer(i, row, 'shape');
        shapes.push(this.#value);
        if (bytes[i] === CLOSE_BRACKET) break;
        i = this.#nextItem(i);
      }
    }
    shape[row] = shapes.finish();
    return i + 1;
  }

  #offsetsField(position: number, row: number): number {
    const bytes = this.#bytes;
    let i = this.#arrayStart(position, row, 'data_offsets');
    if (bytes[i] === CLOSE_BRACKET) throw this.#notTwo(row);
    i = this.#integer(i, row, 'data_offsets');
    this.#columns.begin[row] = this.#value;
    if (bytes[i] === CLOSE_BRACKET) throw this.#notTwo(row);
    i = this.#integer(this.#nextItem(i), row, 'data_offsets');
    this.#columns.end[row] = this.#value;
    if (bytes[i] !== CLOSE_BRACKET) {
      this.#nextItem(i);
      throw this.#notTwo(row);
    }
    return i + 1;
  }

  /** Steps over the bracket of an array of integers and white space. */
  #arrayStart(position: number, row: number, field: string): number {
    const bytes = this.#bytes;
    if (bytes[position] !== OPEN_BRACKET) {
      skipValue(bytes, position, 2);
      throw this.#entryFault('INVALID_TENSOR_INFO', row, `has a ${field} that is not an array`);
    }
    return bytes[position + 1]! <= 0x20 ? skipWhitespace(bytes, position + 1) : position + 1;
  }

  /** Steps over the comma and white space between two items. */
  #nextItem(position: number): number {
    const bytes = this.#bytes;
    if (bytes[position] !== COMMA) throw jsonFault(bytes, position, "',' or ']'");
    return bytes[position + 1]! <= 0x20 ? skipWhitespace(bytes, position + 1) : position + 1;
  }

  /** Reads a plain non-negative integer into #value, and the white space after it. */
  #integer(position: number, row: number, field: string): number {
    const bytes = this.#bytes;
    let i = position;
    let c = bytes[i]!;
    let value = 0;
    while (c >= 0x30 && c <= 0x39) {
      value = value * 10 + (c - 0x30);
      c = bytes[++i]!;
    }
    const digits = i - position;
    // '.', 'e', 'E', a sign, a leading zero, no digits, or more digits than are exact
    if (
      digits === 0 ||
      c === 0x2e ||
      c === 0x65 ||
      c === 0x45 ||
      (digits > 1 && bytes[position] === 0x30) ||
      digits > 15
    ) {
      return this.#unusualInteger(position, row, field);
    }
    this.#value = value;
    return c <= 0x20 ? skipWhitespace(bytes, i) : i;
  }

  #unusualInteger(position: number, row: number, field: string): number {
    const bytes = this.#bytes;
    const end = skipValue(bytes, position, 3);
    const text = Buffer.from(bytes.subarray(position, end)).toString();
    if (!/^[0-9]+$/.test(text)) {
      throw this.#entryFault(
        'INVALID_TENSOR_INFO',
        row,
        `has ${quote(text)} in its ${field}: not a plain non-negative integer`,
      );
    }
    // Too large for any file, yet which rule it breaks is for layout.ts to say, so it is kept, rounded.
    if (BigInt(text) > MAX_U64) {
      throw this.#entryFault('INVALID_TENSOR_INFO', row, `has ${quote(text)} in its ${field}: over 2^64 - 1`);
    }
    this.#value = Number(text);
    if (this.#value > Number.MAX_SAFE_INTEGER) this.#hasHuge = true;
    return skipWhitespace(bytes, end);
  }

  #metadataValue(position: number): number {
    if (this.#metadata !== undefined) {
      throw new SafeTensorsError('DUPLICATE_KEY', `${METADATA_KEY} stands twice in the header`);
    }
    this.#metadata = new Map();
    return readMetadata(this.#bytes, position, this.#metadata);
  }

  /** Puts the name between two quotes among the names, whatever its length and spelling; returns its end. */
  #unusualName(quote: number, end: number, nameBegin: number): number {
    const columns = this.#columns;
    const name = encoder.encode(decodeString(this.#bytes, quote, end));
    if (nameBegin + name.length > columns.names.length) columns.growNames(end / this.#bytes.length, name.length);
    columns.names.set(name, nameBegin);
    return nameBegin + name.length;
  }

  #name(row: number): string {
    const { names, nameBegin } = this.#columns;
    return Buffer.from(names.subarray(nameBegin[row], nameBegin[row + 1])).toString();
  }

  #entryFault(code: ErrorCode, row: number, what: string): SafeTensorsError {
    const tensor = this.#name(row);
    return new SafeTensorsError(code, `tensor ${quote(tensor)} ${what}`, { tensor });
  }

  #notTwo(row: number): SafeTensorsError {
    return this.#entryFault('INVALID_TENSOR_INFO', row, 'has data_offsets that are not two integers');
  }

  #missing(row: number, seen: number): SafeTensorsError {
    const field = (seen & DTYPE) === 0 ? 'dtype' : (seen & SHAPE) === 0 ? 'shape' : 'data_offsets';
    return this.#entryFault('INVALID_TENSOR_INFO', row, `has no ${field}`);
  }
}

/** Which of the three fields stands at a quote, spelled without escapes; 0 for none. */
function fieldAt(b: Uint8Array, i: number): number {
  if (b[i] !== QUOTE) return 0;
  switch (b[i + 1]) {
    case 0x64: // d
      if (b[i + 2] === 0x74) {
        return b[i + 3] === 0x79 && b[i + 4] === 0x70 && b[i + 5] === 0x65 && b[i + 6] === QUOTE ? DTYPE : 0;
      }
      return b[i + 2] === 0x61 &&
        b[i + 3] === 0x74 &&
        b[i + 4] === 0x61 &&
        b[i + 5] === 0x5f &&
        b[i + 6] === 0x6f &&
        b[i + 7] === 0x66 &&
        b[i + 8] === 0x66 &&
        b[i + 9] === 0x73 &&
        b[i + 10] === 0x65 &&
        b[i + 11] === 0x74 &&
        b[i + 12] === 0x73 &&
        b[i + 13] === QUOTE
        ? OFFSETS
        : 0;
    case 0x73: // s
      return b[i + 2] === 0x68 && b[i + 3] === 0x61 && b[i + 4] === 0x70 && b[i + 5] === 0x65 && b[i + 6] === QUOTE
        ? SHAPE
        : 0;
    default:
      return 0;
  }
}

function isMetadataKey(names: Uint8Array, begin: number): boolean {
  for (let k = 0; k < METADATA_KEY.length; k++) if (names[begin + k] !== METADATA_KEY.charCodeAt(k)) return false;
  return true;
}

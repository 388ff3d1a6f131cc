// Owns the head of a file that is to be written: the order of its tensors, their offsets, the header's bytes.
// Refuses names, metadata and sizes that no file can have. Pure: it never sees the data or a file.

import { Buffer } from 'node:buffer';
import { types } from 'node:util';

import { bitsOf, type Dtype, dtypeCode } from './dtype.js';
import { quote, SafeTensorsError, shown } from './errors.js';
import { MAX_HEADER_LENGTH, PREFIX_LENGTH } from './header.js';
import { METADATA_KEY } from './metadata.js';
import { compareUnits } from './natural.js';

/** Where the data starts without the option, as the reference writer has it. */
const DEFAULT_ALIGNMENT = 8;

/** A huge page: nobody maps data on larger boundaries. */
const MOST_ALIGNMENT = 2 ** 21;

/** Characters that are escaped at a time. */
const JSON_STEP = 2 ** 20;

/** More dimensions than this are not shown in a message. */
const MOST_SHOWN = 16;

/** Texts by their keys, as a caller gives them. */
export type MetadataInput = Readonly<Record<string, string>> | ReadonlyMap<string, string>;

/** What the head says of one tensor. */
export interface Described {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  readonly byteLength: number;
}

/** The head of a file, and the order in which its data follows. */
export interface FilePlan<T extends Described> {
  readonly tensors: readonly T[];
  /** Everything before the data: the header's length, the header, its padding. */
  readonly head: Uint8Array<ArrayBuffer>;
  /** Of the whole file. */
  readonly byteLength: number;
}

/**
 * Lays tensors out: by dtype, the widest first, then by the UTF-8 bytes of their names, without gaps. The same tensors
 * and metadata give the same bytes, in whatever order they come. `alignment` is the power of two that the data's position
 * in the file is a multiple of. Throws INVALID_TENSOR and INVALID_ARGUMENT.
 */
export function planFile<T extends Described>(
  tensors: readonly T[],
  metadata: MetadataInput | undefined,
  alignment: number = DEFAULT_ALIGNMENT,
): FilePlan<T> {
  requireAlignment(alignment);
  requireNames(tensors);
  const ordered = sorted(tensors);
  const members = new Members();
  if (metadata !== undefined) members.add(`"${METADATA_KEY}":{${metadataText(metadata)}}`);
  let end = 0;
  for (const { name, dtype, shape, byteLength } of ordered) {
    const begin = end;
    end += byteLength;
    members.add(`${jsonOf(name)}:{"dtype":"${dtype}","shape":[${shape.join(',')}],"data_offsets":[${begin},${end}]}`);
  }
  const head = headOf(`{${members.text()}}`, alignment);
  const byteLength = head.length + end;
  if (byteLength > Number.MAX_SAFE_INTEGER) throw invalid(`the tensors have ${end} bytes, more than a file can have`);
  return { tensors: ordered, head, byteLength };
}

/**
 * The bytes of a tensor of this dtype and shape. Throws INVALID_TENSOR for a shape that is none, or that takes no whole
 * number of bytes.
 */
export function byteLengthOf(name: string, dtype: Dtype, shape: readonly number[]): number {
  let elements = 1;
  for (const dim of shape) {
    if (!Number.isSafeInteger(dim) || dim < 0) {
      throw invalid(
        `tensor ${quote(name)} has ${shown(dim)} in its shape; a dimension is an integer from 0 to 2^53 - 1`,
        name,
      );
    }
    elements *= dim;
    // Also before a 0 that follows: a reader that multiplies from the left overflows there.
    if (!Number.isSafeInteger(elements)) break;
  }
  const bits = elements * bitsOf(dtype);
  if (!Number.isSafeInteger(bits)) {
    throw invalid(`tensor ${quote(name)} of shape ${shapeText(shape)} is larger than any file`, name);
  }
  if (bits % 8 !== 0) {
    throw invalid(
      `tensor ${quote(name)} of dtype ${dtype} and shape ${shapeText(shape)} takes ${bits} bits, not a whole number of bytes`,
      name,
    );
  }
  return bits / 8;
}

/** A shape for use in a message: its first dimensions. */
export function shapeText(shape: readonly number[]): string {
  const more = shape.length > MOST_SHOWN ? `, … ${shape.length} dimensions` : '';
  return `[${shape.slice(0, MOST_SHOWN).join(', ')}${more}]`;
}

/** How many elements of a dtype so many bytes hold. Throws INVALID_TENSOR when it is no whole number. */
export function elementsIn(name: string, dtype: Dtype, byteLength: number): number {
  const elements = (byteLength * 8) / bitsOf(dtype);
  if (Number.isInteger(elements)) return elements;
  throw invalid(`tensor ${quote(name)} has ${byteLength} bytes, no whole number of elements of ${dtype}`, name);
}

/** Compares in the order of UTF-8 bytes, which is not that of JavaScript's strings beyond U+FFFF. */
export function compareUtf8(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return rank(x) - rank(y);
  }
  return a.length - b.length;
}

/** Surrogates stand for code points above all other units. */
function rank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

function sorted<T extends Described>(tensors: readonly T[]): T[] {
  // The engine's own comparison is many times faster, and the same without surrogates.
  const compare = tensors.some(({ name }) => /[\ud800-\udfff]/.test(name)) ? compareUtf8 : compareUnits;
  return [...tensors].sort((a, b) => dtypeCode(a.dtype) - dtypeCode(b.dtype) || compare(a.name, b.name));
}

function headOf(text: string, alignment: number): Uint8Array<ArrayBuffer> {
  const used = PREFIX_LENGTH + Buffer.byteLength(text);
  const length = Math.ceil(used / alignment) * alignment;
  if (length - PREFIX_LENGTH > MAX_HEADER_LENGTH) throw tooLong(`${length - PREFIX_LENGTH}`);
  const head = Buffer.from(new ArrayBuffer(length));
  head.writeBigUInt64LE(BigInt(length - PREFIX_LENGTH));
  head.write(text, PREFIX_LENGTH);
  head.fill(' ', used);
  return head;
}

/**
 * Parts of a text in JSON, on their way to a header. Counts as it goes: a text much longer than a header may be would
 * not fit into a string at all.
 */
class Members {
  readonly #members: string[] = [];
  #length = 0;

  add(member: string): void {
    this.#length += member.length;
    // In UTF-16 units, of which a text has no more than bytes.
    if (this.#length > MAX_HEADER_LENGTH) throw tooLong(`more than ${MAX_HEADER_LENGTH}`);
    this.#members.push(member);
  }

  text(separator = ','): string {
    return this.#members.join(separator);
  }
}

function metadataText(metadata: MetadataInput): string {
  const texts: [string, string][] = [];
  for (const [key, value] of metadataEntries(metadata)) {
    if (typeof key !== 'string' || !key.isWellFormed()) {
      throw invalid(`a key of the metadata is ${shown(key)}; it has to be a string of well-formed Unicode`);
    }
    if (typeof value !== 'string' || !value.isWellFormed()) {
      throw invalid(`the metadata's ${quote(key)} is ${shown(value)}; it has to be a string of well-formed Unicode`);
    }
    texts.push([key, value]);
  }
  const members = new Members();
  for (const [key, value] of texts.sort(([a], [b]) => compareUtf8(a, b)))
    members.add(`${jsonOf(key)}:${jsonOf(value)}`);
  return members.text();
}

function metadataEntries(metadata: unknown): Iterable<readonly [unknown, unknown]> {
  if (types.isMap(metadata)) return Map.prototype.entries.call(metadata);
  if (isRecord(metadata)) return Object.entries(metadata);
  throw invalid(`the metadata is ${shown(metadata)}; it has to be a plain object or a Map of strings`);
}

/**
 * Whether a value is a plain object, of any realm. What has a class of its own, like a promise or a buffer, has no fields
 * to be taken for names, or others than its user means.
 */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** A well-formed string in JSON, where a header has room for it: escaped, some would be longer than a string can be. */
function jsonOf(text: string): string {
  if (text.length <= JSON_STEP) return JSON.stringify(text);
  const parts = new Members();
  for (let at = 0; at < text.length; ) {
    let end = at + JSON_STEP;
    if (!text.slice(at, end).isWellFormed()) end--; // between the halves of a pair
    parts.add(JSON.stringify(text.slice(at, end)).slice(1, -1));
    at = end;
  }
  return `"${parts.text('')}"`;
}

/** Throws INVALID_TENSOR for names that no file can have, or not together. */
export function requireNames(tensors: readonly Described[]): void {
  const seen = new Set<string>();
  for (const { name } of tensors) {
    if (name === METADATA_KEY) throw invalid(`no tensor can be named ${quote(name)}: the key is the metadata's`, name);
    if (!name.isWellFormed()) throw invalid(`the tensor name ${quote(name)} is not well-formed Unicode`, name);
    if (seen.has(name)) throw invalid(`tensor ${quote(name)} is given twice`, name);
    seen.add(name);
  }
}

function requireAlignment(alignment: number): void {
  const isPower = Number.isInteger(alignment) && Number.isInteger(Math.log2(alignment));
  if (isPower && alignment >= DEFAULT_ALIGNMENT && alignment <= MOST_ALIGNMENT) return;
  throw new SafeTensorsError(
    'INVALID_ARGUMENT',
    `alignment is a power of two from 8 to ${MOST_ALIGNMENT}, not ${shown(alignment)}`,
  );
}

function tooLong(length: string): SafeTensorsError {
  return invalid(`the header takes ${length} bytes; the format's limit is ${MAX_HEADER_LENGTH}`);
}

function invalid(message: string, tensor?: string): SafeTensorsError {
  return new SafeTensorsError('INVALID_TENSOR', message, { tensor });
}

// Owns the naive twin of the reader: the format's rules, written for reading and not for speed.
// Refuses to say why it refuses; that is what the tables of codes are for.

import { bitsOf, DTYPES, type Dtype } from '../../src/dtype.js';

/** A JSON value that keeps what JSON.parse loses: repeated keys, and how a number is spelled. */
type Value =
  | { kind: 'object'; members: [string, Value][] }
  | { kind: 'array'; items: Value[] }
  | { kind: 'string'; text: string }
  | { kind: 'number'; spelling: string }
  | { kind: 'literal'; spelling: string };

export interface NaiveTensor {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: number[];
  readonly data_offsets: [number, number];
}

export interface NaiveFile {
  /** In order of begin, then end, then place in the header. */
  readonly tensors: NaiveTensor[];
  readonly metadata: Map<string, string>;
}

const MAX_U64 = 2n ** 64n - 1n;
const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER);
const MAX_DEPTH = 127;

class Refused extends Error {}

function refuseIf(condition: boolean): void {
  if (condition) throw new Refused();
}

/** What a file holds, or undefined when it breaks a rule. */
export function naiveRead(file: Uint8Array): NaiveFile | undefined {
  try {
    refuseIf(file.length < 8);
    const length = Buffer.from(file).readBigUInt64LE();
    refuseIf(length > 100_000_000n || 8n + length > BigInt(file.length));
    const end = 8 + Number(length);
    return readHeader(file.subarray(8, end), BigInt(file.length - end));
  } catch (error) {
    // A SyntaxError is JSON.parse's, a TypeError the decoder's.
    if (error instanceof Refused || error instanceof SyntaxError || error instanceof TypeError) return undefined;
    throw error;
  }
}

function readHeader(bytes: Uint8Array, dataLength: bigint): NaiveFile {
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  JSON.parse(text); // the judge of what is JSON; what follows only takes it apart
  const header = new Structure(text).value(1);
  if (header.kind !== 'object') throw new Refused();
  let metadata = new Map<string, string>();
  const entries: { name: string; dtype: Dtype; shape: bigint[]; offsets: bigint[] }[] = [];
  for (const [name, value] of header.members) {
    if (name === '__metadata__') metadata = metadataOf(value);
    else entries.push({ name, ...entryOf(value) });
  }
  entries.sort((a, b) => Number(a.offsets[0]! - b.offsets[0]!) || Number(a.offsets[1]! - b.offsets[1]!));
  let previous = 0n;
  for (const { dtype, shape, offsets } of entries) {
    refuseIf(offsets[0] !== previous || offsets[1]! < previous);
    refuseIf(offsets[1]! - previous !== byteLengthOf(dtype, shape));
    previous = offsets[1]!;
  }
  refuseIf(previous !== dataLength);
  const tensors = entries.map(({ name, dtype, shape, offsets }) => ({
    name,
    dtype,
    shape: shape.map(Number),
    data_offsets: offsets.map(Number) as [number, number],
  }));
  return { tensors, metadata };
}

function metadataOf(value: Value): Map<string, string> {
  if (value.kind === 'literal' && value.spelling === 'null') return new Map();
  if (value.kind !== 'object') throw new Refused();
  return new Map(
    value.members.map(([key, item]) => {
      if (item.kind !== 'string') throw new Refused();
      return [key, item.text];
    }),
  );
}

function entryOf(value: Value): { dtype: Dtype; shape: bigint[]; offsets: bigint[] } {
  if (value.kind !== 'object') throw new Refused();
  const fields = new Map(value.members);
  const dtype = fields.get('dtype');
  if (dtype?.kind !== 'string') throw new Refused();
  refuseIf(!DTYPES.includes(dtype.text as Dtype));
  const shape = integersOf(fields.get('shape'));
  const offsets = integersOf(fields.get('data_offsets'));
  refuseIf(offsets.length !== 2);
  return { dtype: dtype.text as Dtype, shape, offsets };
}

function integersOf(value: Value | undefined): bigint[] {
  if (value?.kind !== 'array') throw new Refused();
  return value.items.map((item) => {
    if (item.kind !== 'number' || !/^[0-9]+$/.test(item.spelling)) throw new Refused();
    refuseIf(BigInt(item.spelling) > MAX_U64);
    return BigInt(item.spelling);
  });
}

function byteLengthOf(dtype: Dtype, shape: readonly bigint[]): bigint {
  refuseIf(shape.includes(0n) && shape.some((size) => size > MAX_SAFE));
  let elements = 1n;
  for (const size of shape) {
    elements *= size;
    refuseIf(elements > MAX_U64);
  }
  const bits = elements * BigInt(bitsOf(dtype));
  refuseIf(bits > MAX_U64 || bits % 8n !== 0n);
  return bits / 8n;
}

/** Takes valid JSON apart. Refuses what is JSON but not the format's: keys twice, lone surrogates, depth, infinity. */
class Structure {
  readonly #text: string;
  #position = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(depth: number): Value {
    this.#take(/[ \t\r\n]*/y);
    const start = this.#text[this.#position];
    refuseIf((start === '{' || start === '[') && depth > MAX_DEPTH);
    if (start === '{') return { kind: 'object', members: this.#members(depth) };
    if (start === '[') return { kind: 'array', items: this.#list(']', () => this.value(depth + 1)) };
    if (start === '"') return { kind: 'string', text: this.#string() };
    const spelling = this.#take(/[^\s,\]}]+/y);
    if (!/^[-0-9]/.test(spelling)) return { kind: 'literal', spelling };
    refuseIf(!Number.isFinite(Number(spelling)));
    return { kind: 'number', spelling };
  }

  #members(depth: number): [string, Value][] {
    const members = this.#list('}', (): [string, Value] => {
      const key = this.#string();
      this.#take(/[ \t\r\n]*:/y);
      return [key, this.value(depth + 1)];
    });
    refuseIf(new Set(members.map(([key]) => key)).size !== members.length);
    return members;
  }

  #list<T>(close: string, item: () => T): T[] {
    const items: T[] = [];
    do {
      this.#position++; // the bracket, or a comma
      this.#take(/[ \t\r\n]*/y);
      if (this.#text[this.#position] === close) break;
      items.push(item());
      this.#take(/[ \t\r\n]*/y);
    } while (this.#text[this.#position] !== close);
    this.#position++;
    return items;
  }

  #string(): string {
    const text: string = JSON.parse(this.#take(/"(?:[^"\\]|\\.)*"/y));
    refuseIf(!text.isWellFormed());
    return text;
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#position;
    const found = pattern.exec(this.#text)![0];
    this.#position += found.length;
    return found;
  }
}

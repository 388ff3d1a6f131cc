// Owns the index of tensor names: a hash table over ranges of their bytes, names decoded only when asked for.
// Refuses a name that is there already. Knows nothing of tensors but their position.

import { Buffer, isAscii } from 'node:buffer';

import { quote, SafeTensorsError } from './errors.js';

/** Start of every hash. The step is in `hashBytes` and, written out again, in the header's scanner. */
export const HASH_SEED = 0x811c9dc5 | 0;
export const HASH_PRIME = 0x01000193;

// A file can be made so that its names collide. Past this many steps for one name the table gives way to a Map,
// whose hash is seeded by the runtime.
const MAX_PROBES = 256;

const encoder = new TextEncoder();

/** FNV-1a over a byte range, 32 bits. */
export function hashBytes(bytes: Uint8Array, begin: number, end: number): number {
  let hash = HASH_SEED;
  for (let i = begin; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, HASH_PRIME);
  return hash;
}

/** Where each name lies: `bytes[begin[i] … begin[i + 1])` is the UTF-8 of name i, unescaped. */
export interface NameRanges {
  readonly bytes: Uint8Array;
  readonly begin: Uint32Array;
}

export class NameIndex {
  readonly #ranges: NameRanges;
  readonly #text: Buffer;
  readonly #encoding: 'latin1' | 'utf8';
  #table: Int32Array;
  #map: Map<string, number> | undefined;
  readonly #count: number;
  #next = 0;

  /** `hashes[i]` is hashBytes of name i. Throws DUPLICATE_KEY. */
  constructor(ranges: NameRanges, hashes: Int32Array, count: number) {
    this.#ranges = ranges;
    this.#count = count;
    this.#text = Buffer.from(ranges.bytes.buffer, ranges.bytes.byteOffset, ranges.bytes.byteLength);
    // The same for ASCII, and the faster of the two.
    this.#encoding = isAscii(this.#text) ? 'latin1' : 'utf8';
    this.#table = new Int32Array(tableSize(count));
    if (!this.#fill(hashes, count)) this.#fillMap(count);
  }

  /** Position of a name, or -1. */
  find(name: string): number {
    if (typeof name !== 'string') return -1;
    if (this.#map !== undefined) return this.#map.get(name) ?? -1;
    // Names are mostly asked for in their order: the one after the last is tried before anything is hashed.
    if (this.#next < this.#count && this.#spells(this.#next, name)) return this.#next++;
    let hash = HASH_SEED;
    for (let i = 0; i < name.length; i++) {
      const c = name.charCodeAt(i);
      if (c > 0x7f) return this.#findEncoded(name);
      hash = Math.imul(hash ^ c, HASH_PRIME);
    }
    const mask = this.#table.length - 1;
    for (let slot = spread(hash) & mask; ; slot = (slot + 1) & mask) {
      const position = this.#table[slot]! - 1;
      if (position >= 0 && !this.#spells(position, name)) continue;
      this.#next = position + 1;
      return position;
    }
  }

  /** Whether a name is this one, which is ASCII where it is. */
  #spells(position: number, name: string): boolean {
    const { bytes, begin } = this.#ranges;
    const from = begin[position]!;
    const { length } = name;
    if (begin[position + 1]! - from !== length) return false;
    // From the end, where names differ most; a byte that begins a longer character equals no ASCII one.
    for (let i = length - 1; i >= 0; i--) {
      const c = name.charCodeAt(i);
      if (c > 0x7f || bytes[from + i] !== c) return false;
    }
    return true;
  }

  /** Name number `position`, decoded anew each time. */
  name(position: number): string {
    return this.#text.toString(this.#encoding, this.#ranges.begin[position]!, this.#ranges.begin[position + 1]!);
  }

  #findEncoded(name: string): number {
    // encode() writes U+FFFD for a lone surrogate, and would find another name.
    if (!name.isWellFormed()) return -1;
    const wanted = encoder.encode(name);
    const mask = this.#table.length - 1;
    let slot = spread(hashBytes(wanted, 0, wanted.length)) & mask;
    for (;;) {
      const position = this.#table[slot]! - 1;
      if (position < 0 || this.#equals(position, wanted, 0, wanted.length)) return position;
      slot = (slot + 1) & mask;
    }
  }

  /** Fills the hash table; false when its chains grow too long. */
  #fill(hashes: Int32Array, count: number): boolean {
    const table = this.#table;
    const mask = table.length - 1;
    const { bytes, begin } = this.#ranges;
    for (let position = 0; position < count; position++) {
      const hash = hashes[position]!;
      let slot = spread(hash) & mask;
      for (let probes = 0; ; probes++) {
        const other = table[slot]! - 1;
        if (other < 0) break;
        if (hashes[other] === hash && this.#equals(other, bytes, begin[position]!, begin[position + 1]!)) {
          throw duplicate(this.name(position));
        }
        if (probes === MAX_PROBES) return false;
        slot = (slot + 1) & mask;
      }
      table[slot] = position + 1;
    }
    return true;
  }

  #fillMap(count: number): void {
    this.#table = new Int32Array(0);
    const map = new Map<string, number>();
    for (let position = 0; position < count; position++) {
      const name = this.name(position);
      if (map.has(name)) throw duplicate(name);
      map.set(name, position);
    }
    this.#map = map;
  }

  #equals(position: number, other: Uint8Array, otherBegin: number, otherEnd: number): boolean {
    const { bytes, begin } = this.#ranges;
    const from = begin[position]!;
    const length = begin[position + 1]! - from;
    if (length !== otherEnd - otherBegin) return false;
    for (let i = 0; i < length; i++) if (bytes[from + i] !== other[otherBegin + i]) return false;
    return true;
  }
}

/** Slots for `count` names: a power of two, at most half full. */
function tableSize(count: number): number {
  let size = 8;
  while (size < count * 2) size *= 2;
  return size;
}

/** Brings the high bits down: the table is indexed by the low ones, where FNV mixes least. */
function spread(hash: number): number {
  return hash ^ (hash >>> 15);
}

function duplicate(name: string): SafeTensorsError {
  return new SafeTensorsError('DUPLICATE_KEY', `the tensor name ${quote(name)} stands twice in the header`, {
    tensor: name,
  });
}

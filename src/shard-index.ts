// Owns the index of a sharded model: which shard holds which tensor. Strict JSON, the same reader as for headers.
// Refuses names twice, and shard names that could lead out of the model's directory. Never sees a file.

import { Buffer, isUtf8 } from 'node:buffer';

import { quote, SafeTensorsError } from './errors.js';
import {
  decodeString,
  expectEnd,
  KeySet,
  OPEN_BRACE,
  QUOTE,
  skipString,
  skipValue,
  skipWhitespace,
  walkObject,
} from './json.js';
import { compareNatural } from './natural.js';

/** A parsed `model.safetensors.index.json`. */
export interface ShardIndex {
  /** Shard file names in natural order. */
  readonly shards: readonly string[];
  /** For each tensor, the position of its shard in `shards`. */
  readonly weightMap: ReadonlyMap<string, number>;
  /** The index's own metadata (`total_size` …): strings as they are, other values as JSON. */
  readonly metadata: ReadonlyMap<string, string>;
}

/** Reads an index. Throws INVALID_INDEX or UNSAFE_SHARD_NAME. */
export function parseShardIndex(bytes: Uint8Array, path: string): ShardIndex {
  try {
    return readIndex(bytes);
  } catch (cause) {
    if (!(cause instanceof SafeTensorsError)) throw cause;
    const code = cause.code === 'UNSAFE_SHARD_NAME' ? cause.code : 'INVALID_INDEX';
    throw new SafeTensorsError(code, `${quote(path)}: ${cause.message}`, {
      path,
      tensor: cause.tensor,
      isFormatError: true,
      cause,
    });
  }
}

function readIndex(bytes: Uint8Array): ShardIndex {
  if (!isUtf8(bytes)) throw fault('the index is not valid UTF-8');
  let weights: Map<string, string> | undefined;
  let metadata = new Map<string, string>();
  const keys = new KeySet();
  const end = walkObject(bytes, 0, (keyBegin, keyEnd, value) => {
    const key = decodeString(bytes, keyBegin, keyEnd);
    keys.add(key, 'the index');
    if (key === 'weight_map') {
      requireObject(bytes, value, key);
      weights = new Map();
      return readStrings(bytes, value, weights);
    }
    if (key !== 'metadata' || bytes[value] !== OPEN_BRACE) return skipValue(bytes, value, 1);
    metadata = new Map();
    return readMetadata(bytes, value, metadata);
  });
  expectEnd(bytes, end);
  if (weights === undefined) throw fault('the index has no weight_map');
  return { ...numbered(weights), metadata };
}

function readStrings(bytes: Uint8Array, position: number, into: Map<string, string>): number {
  return walkObject(bytes, position, (keyBegin, keyEnd, value) => {
    const name = decodeString(bytes, keyBegin, keyEnd);
    if (bytes[value] !== QUOTE) throw fault(`the shard of tensor ${quote(name)} is not a string`, name);
    const end = skipString(bytes, value);
    const shard = decodeString(bytes, value, end);
    const other = into.get(name);
    if (other !== undefined) {
      throw fault(`tensor ${quote(name)} stands twice in weight_map, in ${quote(other)} and in ${quote(shard)}`, name);
    }
    into.set(name, shard);
    return end;
  });
}

function readMetadata(bytes: Uint8Array, position: number, into: Map<string, string>): number {
  return walkObject(bytes, position, (keyBegin, keyEnd, value) => {
    const key = decodeString(bytes, keyBegin, keyEnd);
    if (into.has(key)) throw fault(`the key ${quote(key)} stands twice in metadata`);
    const end = skipValue(bytes, value, 2);
    const isText = bytes[value] === QUOTE;
    into.set(key, isText ? decodeString(bytes, value, end) : Buffer.from(bytes.subarray(value, end)).toString());
    return end;
  });
}

function numbered(weights: ReadonlyMap<string, string>): Pick<ShardIndex, 'shards' | 'weightMap'> {
  const shards = [...new Set(weights.values())].sort(compareNatural);
  shards.forEach(requireSafe);
  const positions = new Map(shards.map((shard, position) => [shard, position]));
  const weightMap = new Map<string, number>();
  for (const [name, shard] of weights) weightMap.set(name, positions.get(shard)!);
  return { shards, weightMap };
}

/** A shard lies beside its index. What it links to is the user's business: caches are made of links. */
function requireSafe(shard: string): void {
  const unsafe = shard === '' || shard === '.' || shard === '..' || /[/\\\0]/.test(shard) || /^[A-Za-z]:/.test(shard);
  if (!unsafe) return;
  throw new SafeTensorsError(
    'UNSAFE_SHARD_NAME',
    `the index names the shard ${quote(shard)}; a shard is a plain file name, beside the index`,
  );
}

function requireObject(bytes: Uint8Array, position: number, key: string): void {
  if (bytes[skipWhitespace(bytes, position)] !== OPEN_BRACE) throw fault(`${key} is not an object`);
}

function fault(message: string, tensor?: string): SafeTensorsError {
  return new SafeTensorsError('INVALID_INDEX', message, { tensor });
}

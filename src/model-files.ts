// Owns finding a model's files and reading their headers: the index or the single file of a directory, and every shard.
// Refuses to map any of them.

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { quote, SafeTensorsError } from './errors.js';
import type { Header } from './header.js';
import { compareNatural } from './natural.js';
import { type Identified, readIdentified } from './open.js';
import type { OpenOptions } from './options.js';
import type { ShardIndex } from './shard-index.js';

/** Headers are read this many at a time, so that a thousand shards need no thousand descriptors. */
const READ_AT_ONCE = 8;

const INDEX_SUFFIX = '.safetensors.index.json';
const FILE_SUFFIX = '.safetensors';

/** Names that an index or a lone file has by convention, preferred where a directory holds several. */
const USUAL_NAMES = ['model', 'diffusion_pytorch_model', 'pytorch_model', 'adapter_model'];

/** One file of a model. */
export interface Shard {
  /** File name, as the index gives it. */
  readonly file: string;
  readonly path: string;
  readonly header: Header;
}

/** A shard as it was when its header was read. */
export type IdentifiedShard = Shard & Identified;

/** Reads every header that an index names, a few at a time. Rejects with SHARD_MISSING, and what `open` rejects with. */
export async function readShards(
  directory: string,
  index: ShardIndex,
  options: OpenOptions | undefined,
): Promise<IdentifiedShard[]> {
  const shards: IdentifiedShard[] = new Array(index.shards.length);
  let next = 0;
  const worker = async () => {
    try {
      while (next < index.shards.length) {
        const position = next++;
        shards[position] = await readShard(directory, index.shards[position]!, options);
      }
    } finally {
      next = index.shards.length; // the first failure ends the others as well
    }
  };
  // Waits for all: a model that has failed to open must not go on reading.
  const ends = await Promise.allSettled(Array.from({ length: READ_AT_ONCE }, worker));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  return shards;
}

async function readShard(directory: string, file: string, options: OpenOptions | undefined): Promise<IdentifiedShard> {
  const path = join(directory, file);
  try {
    return { file, path, ...(await readIdentified(path, options)) };
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause;
    throw new SafeTensorsError(
      'SHARD_MISSING',
      `the index names the shard ${quote(file)}, which is not in ${quote(directory)}`,
      {
        path,
        isFormatError: true,
        cause,
      },
    );
  }
}

/** Throws INVALID_INDEX: every tensor of the index must be in its shard, and in no other. */
export function requireAgreement(index: ShardIndex, shards: readonly Shard[], path: string): void {
  for (const [name, position] of index.weightMap) {
    if (shards[position]!.header.has(name)) continue;
    throw new SafeTensorsError(
      'INVALID_INDEX',
      `${quote(path)}: tensor ${quote(name)} should be in shard ${quote(shards[position]!.file)}, which lacks it`,
      { path, tensor: name, isFormatError: true },
    );
  }
  shards.forEach((shard, position) => {
    for (const name of shard.header.keys()) {
      const other = index.weightMap.get(name);
      if (other === undefined || other === position) continue;
      throw new SafeTensorsError(
        'INVALID_INDEX',
        `${quote(path)}: tensor ${quote(name)} is in two shards, ${quote(shards[other]!.file)} and ${quote(shard.file)}`,
        { path, tensor: name, isFormatError: true },
      );
    }
  });
}

/** The index of a directory, else its single file. Rejects with MODEL_NOT_FOUND. */
export async function findInDirectory(directory: string): Promise<string> {
  const names = (await readdir(directory)).sort(compareNatural);
  for (const suffix of [INDEX_SUFFIX, FILE_SUFFIX]) {
    const found = names.filter((name) => name.endsWith(suffix));
    const usual = USUAL_NAMES.map((name) => name + suffix).find((name) => found.includes(name));
    if (found.length === 1 || usual !== undefined) return join(directory, usual ?? found[0]!);
    if (found.length > 1) throw undecided(directory, `${found.length} candidates: ${listed(found)}`);
  }
  throw undecided(directory, names.length === 0 ? 'it is empty' : `no *${FILE_SUFFIX} among ${listed(names)}`);
}

function undecided(directory: string, why: string): SafeTensorsError {
  return new SafeTensorsError(
    'MODEL_NOT_FOUND',
    `${quote(directory)} does not say which model to open: ${why}. Give the path of a file or an index`,
    { path: directory },
  );
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, 10).map(quote).join(', ');
  return names.length > 10 ? `${shown} and ${names.length - 10} more` : shown;
}

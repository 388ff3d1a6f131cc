// Owns a model of one or many files: finding its shards, checking that they fit the index, mapping each on first use.
// Refuses a model whose index and shards disagree; bytes and views are the single file's affair.

import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';

import { quote, SafeTensorsError } from './errors.js';
import type { FileSystem } from './file-system.js';
import type { Header, TensorInfo } from './header.js';
import { compareNatural } from './natural.js';
import { type Identified, openIdentified, openIdentifiedAsync, pathOf, readIdentified, readIndex } from './open.js';
import { type OpenOptions, type ResolvedOptions, resolveOptions } from './options.js';
import { type PrefetchOptions, type PrefetchPart, prefetchOptions, prefetchParts } from './prefetch.js';
import { type SafeTensors, sourceOf } from './safetensors.js';
import { namesOf, rangesOf, type TensorNames } from './selection.js';
import { parseShardIndex, type ShardIndex } from './shard-index.js';
import { lengthOf } from './source.js';
import { notFound } from './suggestions.js';
import type { TensorView } from './tensor.js';
import { type Residency, TensorMap } from './tensor-map.js';

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

/**
 * Opens a model: a directory (its index, else its single .safetensors file), an index, or a file. Reads and checks every
 * header at once; maps a shard when one of its tensors is first asked for. Throws MODEL_NOT_FOUND, INVALID_INDEX,
 * SHARD_MISSING, UNSAFE_SHARD_NAME, whatever `open` throws, and SHARD_CHANGED later when a file was replaced before it was mapped.
 */
export async function openModel(path: string | URL, options?: OpenOptions): Promise<SafeTensorsModel> {
  const resolved = resolveOptions(options);
  const given = pathOf(path);
  const file = (await stat(given)).isDirectory() ? await findInDirectory(resolve(given)) : resolve(given);
  if (!file.endsWith('.json')) {
    const shard = { file: basename(file), path: file, ...(await readIdentified(file, options)) };
    return SafeTensorsModel.over(given, undefined, [shard], undefined, resolved);
  }
  const index = parseShardIndex(await readIndex(file, resolved.maxHeaderLength), file);
  const shards = await readShards(dirname(file), index, options);
  requireAgreement(index, shards, file);
  return SafeTensorsModel.over(given, file, shards, index, resolved);
}

/** A model of one or many files, read as one map of names to tensors. Made by `openModel`. */
export class SafeTensorsModel extends TensorMap {
  /** As given to openModel. */
  readonly path: string;
  /** The index that names the shards; undefined for a model of a single file without one. */
  readonly indexPath: string | undefined;
  /** Metadata of the index, or of the single file. */
  readonly metadata: ReadonlyMap<string, string>;
  /** The files, in natural order of their names. */
  readonly shards: readonly Shard[];
  readonly size: number;
  /** Length of all files together, in bytes. */
  readonly byteLength: number;
  /** Of the first shard; undefined for a model without any. */
  readonly fileSystem: FileSystem | undefined;
  readonly #index: ShardIndex | undefined;
  readonly #identified: readonly Identified[];
  readonly #options: ResolvedOptions;
  readonly #open: (SafeTensors | undefined)[];
  #closed = false;

  private constructor(
    path: string,
    indexPath: string | undefined,
    shards: readonly IdentifiedShard[],
    index: ShardIndex | undefined,
    options: ResolvedOptions,
  ) {
    super();
    this.path = path;
    this.indexPath = indexPath;
    this.shards = shards.map((shard) => Object.freeze({ file: shard.file, path: shard.path, header: shard.header }));
    this.metadata = index?.metadata ?? shards[0]!.header.metadata;
    this.size = index?.weightMap.size ?? shards[0]!.header.size;
    this.byteLength = shards.reduce((sum, shard) => sum + shard.header.byteLength, 0);
    this.#index = index;
    this.fileSystem = shards[0]?.fileSystem;
    this.#identified = shards;
    this.#options = options;
    this.#open = new Array(shards.length);
  }

  /** @internal */
  static over(
    path: string,
    indexPath: string | undefined,
    shards: readonly IdentifiedShard[],
    index: ShardIndex | undefined,
    options: ResolvedOptions,
  ): SafeTensorsModel {
    return new SafeTensorsModel(path, indexPath, shards, index, options);
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** How the shards that are mapped so far are backed; before the first, how they are meant to be. */
  get backend(): SafeTensors['backend'] {
    const opened = this.#open.find((file) => file !== undefined);
    return opened?.backend ?? (this.#options.backend === 'read' ? 'read' : 'mmap');
  }

  /** The same for the protection of their pages; undefined where nothing is mapped. */
  get protection(): SafeTensors['protection'] {
    const opened = this.#open.find((file) => file !== undefined);
    if (opened !== undefined) return opened.protection;
    return this.backend === 'read' ? undefined : this.#options.protection;
  }

  /** File name of the shard that holds a tensor. Throws TENSOR_NOT_FOUND. */
  shardOf(name: string): string {
    return this.shards[this.#requireShard(name)]!.file;
  }

  has(name: string): boolean {
    return this.#shardOf(name) >= 0;
  }

  tensor(name: string): TensorView {
    this.#requireOpen();
    return this.#file(this.#requireShard(name)).tensor(name);
  }

  override get(name: string): TensorView | undefined {
    this.#requireOpen();
    return super.get(name);
  }

  info(name: string): TensorInfo {
    return this.shards[this.#requireShard(name)]!.header.info(name);
  }

  *keys(): Generator<string, undefined, unknown> {
    for (let k = 0; k < this.shards.length; k++) {
      for (const name of this.shards[k]!.header.keys()) if (this.#shardOf(name) === k) yield name;
    }
  }

  *values(): Generator<TensorView, undefined, unknown> {
    for (const name of this.keys()) yield this.tensor(name);
  }

  /** Shards that are not mapped yet are, off the event loop, when their turn comes. */
  async prefetch(names?: TensorNames, options: PrefetchOptions = {}): Promise<void> {
    const resolved = prefetchOptions(options);
    const wanted = this.#rangesOf(namesOf(names));
    this.#requireOpen();
    const parts = wanted.map(({ position, ranges }): PrefetchPart => {
      const { path, fileSystem } = this.#identified[position]!;
      return { path, fileSystem, ranges, open: async () => sourceOf(await this.#fileAsync(position)) };
    });
    await prefetchParts(parts, resolved);
  }

  /** Maps the shards that it asks for, as a first use does. */
  residency(names?: TensorNames): Residency {
    const wanted = this.#rangesOf(namesOf(names));
    this.#requireOpen();
    let residentBytes: number | undefined = 0;
    for (const { position, ranges } of wanted) {
      const found = sourceOf(this.#file(position)).residentBytes(ranges);
      residentBytes = found === undefined || residentBytes === undefined ? undefined : residentBytes + found;
    }
    return { bytes: wanted.reduce((sum, { ranges }) => sum + lengthOf(ranges), 0), residentBytes };
  }

  /** Shards that are not mapped stay as they are. */
  evict(names?: TensorNames): void {
    const wanted = this.#rangesOf(namesOf(names));
    this.#requireOpen();
    for (const { position, ranges } of wanted) {
      const file = this.#open[position];
      if (file !== undefined) sourceOf(file).evict(ranges);
    }
  }

  close(): void {
    this.#closed = true;
    for (const file of this.#open) file?.close();
  }

  get [Symbol.toStringTag](): string {
    return 'SafeTensorsModel';
  }

  #shardOf(name: string): number {
    if (this.#index !== undefined) return this.#index.weightMap.get(name) ?? -1;
    return this.shards[0]!.header.has(name) ? 0 : -1;
  }

  #requireShard(name: string): number {
    const shard = this.#shardOf(name);
    if (shard < 0) throw notFound(name, this.keys(), this.size, this.path);
    return shard;
  }

  #requireOpen(): void {
    if (this.#closed) throw new SafeTensorsError('CLOSED', `${quote(this.path)} is closed`, { path: this.path });
  }

  #file(position: number): SafeTensors {
    this.#open[position] ??= openIdentified(this.#identified[position]!, this.#options);
    return this.#open[position];
  }

  async #fileAsync(position: number): Promise<SafeTensors> {
    this.#requireOpen();
    const opened = this.#open[position] ?? (await openIdentifiedAsync(this.#identified[position]!, this.#options));
    // Meanwhile a tensor may have been asked for, or the model closed.
    this.#open[position] ??= opened;
    if (this.#open[position] !== opened || this.#closed) opened.close();
    this.#requireOpen();
    return this.#open[position];
  }

  /** The shards that hold the tensors named, with their ranges. */
  #rangesOf(names: readonly string[] | undefined): { readonly position: number; readonly ranges: readonly number[] }[] {
    const byShard = new Map<number, string[] | undefined>();
    if (names === undefined && this.#index === undefined) byShard.set(0, undefined);
    for (const name of byShard.size > 0 ? [] : (names ?? this.keys())) {
      const shard = this.#requireShard(name);
      const list = byShard.get(shard);
      if (list === undefined) byShard.set(shard, [name]);
      else list.push(name);
    }
    const shards = [...byShard].sort(([a], [b]) => a - b);
    return shards.map(([position, list]) => ({ position, ranges: rangesOf(this.shards[position]!.header, list) }));
  }
}

type IdentifiedShard = Shard & Identified;

async function readShards(
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

/** Every tensor of the index must be in its shard, and in no other. */
function requireAgreement(index: ShardIndex, shards: readonly Shard[], path: string): void {
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

/** The index of a directory, else its single file. */
async function findInDirectory(directory: string): Promise<string> {
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

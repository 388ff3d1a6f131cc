// Owns a model of one or many files as one map of names to tensors, and the mapping of each file on first use.
// Refuses a model whose index and shards disagree; bytes and views are the single file's affair.

import { stat } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';

import { quote, SafeTensorsError } from './errors.js';
import type { FileSystem } from './file-system.js';
import type { TensorInfo } from './header.js';
import { findInDirectory, type IdentifiedShard, readShards, requireAgreement, type Shard } from './model-files.js';
import { type Identified, openIdentified, openIdentifiedAsync, pathOf, readIdentified, readIndex } from './open.js';
import { type OpenOptions, type ResolvedOptions, resolveOptions } from './options.js';
import { type PrefetchOptions, type PrefetchPart, prefetchOptions, prefetchParts } from './prefetch.js';
import { type SafeTensors, sourceOf } from './safetensors.js';
import { namesOf, rangesOf, type TensorNames } from './selection.js';
import { parseShardIndex, type ShardIndex } from './shard-index.js';
import { notFound } from './suggestions.js';
import type { TensorView } from './tensor.js';
import { type Residency, TensorMap } from './tensor-map.js';

/**
 * Opens a model: a directory (its index, else its single .safetensors file), an index, or a file. Reads and checks every
 * header at once; maps a shard when one of its tensors is first asked for. Throws MODEL_NOT_FOUND, INVALID_INDEX,
 * SHARD_MISSING, UNSAFE_SHARD_NAME, whatever `open` throws, and SHARD_CHANGED later when a file was replaced before it was mapped.
 */
export async function openModel(path: string | URL, options?: OpenOptions): Promise<SafeTensorsModel> {
  const resolved = resolveOptions(options);
  const given = pathOf(path);
  const absolute = resolve(given); // before the working directory may change
  const file = (await stat(given)).isDirectory() ? await findInDirectory(absolute) : absolute;
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
    const wanted = this.#byShard(namesOf(names));
    this.#requireOpen();
    const parts = wanted.map(([position, list]): PrefetchPart => {
      const { path, fileSystem, header } = this.#identified[position]!;
      const ranges = rangesOf(header, list);
      return { path, fileSystem, ranges, open: async () => sourceOf(await this.#fileAsync(position)) };
    });
    await prefetchParts(parts, resolved);
  }

  /** Maps the shards that it asks for, as a first use does. */
  residency(names?: TensorNames): Residency {
    const wanted = this.#byShard(namesOf(names));
    this.#requireOpen();
    let bytes = 0;
    let residentBytes: number | undefined = 0;
    for (const [position, list] of wanted) {
      const found = this.#file(position).residency(list);
      bytes += found.bytes;
      if (residentBytes !== undefined && found.residentBytes !== undefined) residentBytes += found.residentBytes;
      else residentBytes = undefined;
    }
    return { bytes, residentBytes };
  }

  /** Shards that are not mapped stay as they are. */
  evict(names?: TensorNames): void {
    const wanted = this.#byShard(namesOf(names));
    this.#requireOpen();
    for (const [position, list] of wanted) this.#open[position]?.evict(list);
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

  /** The names that each shard holds, in order of shards; undefined for all of a shard. */
  #byShard(names: readonly string[] | undefined): [position: number, names: string[] | undefined][] {
    if (names === undefined && this.#index === undefined) return this.shards.length === 0 ? [] : [[0, undefined]];
    const lists = new Map<number, string[]>();
    for (const name of names ?? this.keys()) {
      const position = this.#requireShard(name);
      const list = lists.get(position);
      if (list === undefined) lists.set(position, [name]);
      else list.push(name);
    }
    return [...lists].sort(([a], [b]) => a - b);
  }
}

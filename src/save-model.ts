// Owns the saving of a model: its shards, then its index, so that the directory always holds the old or the new model.
// Refuses to touch what stands there before the new model is complete.

import { link, mkdir, rename } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

import { SafeTensorsError, shown } from './errors.js';
import { keptMetadata } from './kept-metadata.js';
import { OldModel, targetIn } from './old-model.js';
import { pathOf } from './open.js';
import type { Payload } from './payload.js';
import { absolutePath, type Draft, removeQuietly, syncDirectory, writeDraft } from './replacing.js';
import { writePlan } from './save.js';
import { type SaveModelOptions, saveModelOptions } from './save-options.js';
import { indexText, interimName, parseByteSize, shardNames, splitByBytes } from './shard-plan.js';
import { ownerTag, temporaryName } from './temporary.js';
import { payloadsOf, type TensorInputs } from './tensor-input.js';
import { planFile, requireNames } from './writing.js';

/** One file of the model that is being saved. */
interface Part {
  /** Its right name. */
  readonly file: string;
  readonly draft: Draft;
}

/**
 * Saves tensors as a model: `model.safetensors`, or shards `model-00001-of-0000N.safetensors` and, last, the index
 * `model.safetensors.index.json`. Tensors are spread over the shards in the order given. A model of the same name in the
 * directory is replaced: until the new one is complete, and if this fails before, the old one is what a reader finds. Then
 * those of its shards are removed that its index named and the new one does not; of other files none is touched. The
 * directory is made if it is missing; links to files in it are replaced, not followed. One save of a model at a time.
 * `metadata` goes into each shard; `onProgress` counts the bytes of all of them. Throws what `save` throws.
 */
export async function saveModel(
  directory: string | URL,
  tensors: TensorInputs,
  options: SaveModelOptions = {},
): Promise<void> {
  const {
    signal,
    onProgress,
    name,
    maxShardSize,
    metadata = keptMetadata(tensors),
    alignment,
  } = saveModelOptions(options);
  signal?.throwIfAborted();
  requireFileName(name);
  const folder = absolutePath(process.cwd(), pathOf(directory));
  const payloads = payloadsOf(tensors);
  requireNames(payloads);
  const groups = splitByBytes(payloads, parseByteSize(maxShardSize ?? '5GB'));
  const plans = groups.map((group) => planFile(group, metadata, alignment));
  const files = shardNames(name, groups.length);
  const total = plans.reduce((sum, plan) => sum + plan.byteLength, 0);

  const parts: Part[] = [];
  try {
    await makeFolder(folder);
    const old = await OldModel.find(folder, name);
    await old.removeLeftovers();
    let before = 0;
    for (const [i, plan] of plans.entries()) {
      const file = files[i]!;
      const writing = (descriptor: number) =>
        writePlan(descriptor, plan, (written) => {
          onProgress?.(before + written, total);
          signal?.throwIfAborted();
        });
      parts.push({ file, draft: await writeDraft(await targetIn(folder, file), writing) });
      before += plan.byteLength;
    }
    signal?.throwIfAborted();
    if (groups.length === 1) await publishSingle(folder, parts[0]!, old);
    else await publishShards(folder, parts, indexFor(groups), old);
  } finally {
    for (const { draft } of parts) await draft.discard();
  }
}

/** Makes a directory and what is missing above it, so that they last. */
async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true });
  if (first === undefined) return;
  for (let made = resolve(folder); made.length >= first.length; made = dirname(made)) {
    await syncDirectory(dirname(made));
    if (made === first || made === dirname(made)) return;
  }
}

/** The text of the index when the groups are in these files. */
type IndexOf = (files: readonly string[]) => string;

function indexFor(groups: readonly (readonly Payload[])[]): IndexOf {
  const totalSize = groups.flat().reduce((sum, { byteLength }) => sum + byteLength, 0);
  return (files) => {
    const entries = groups.flatMap((group, i) => group.map((tensor) => [tensor.name, files[i]!] as const));
    return indexText(totalSize, new Map(entries));
  };
}

/** The renaming is the moment of change for readers that look for a single file first; the index's end for others. */
async function publishSingle(folder: string, part: Part, old: OldModel): Promise<void> {
  await part.draft.publish(join(folder, part.file));
  await syncDirectory(folder);
  await old.remove([part.file]);
}

async function publishShards(folder: string, parts: readonly Part[], indexOf: IndexOf, old: OldModel): Promise<void> {
  const files = parts.map(({ file }) => file);
  if (!(await old.uses(files))) {
    await nameShards(folder, parts, files);
    await old.replaceIndex(indexOf(files));
    await old.remove(files);
    return;
  }
  // The old index names files that the new model needs. Until it is replaced, the new shards have other names.
  const tag = ownerTag();
  const interim = files.map((file) => interimName(file, tag));
  await nameShards(folder, parts, interim);
  await old.replaceIndex(indexOf(interim));
  // From here on the new model is the one that a reader finds. What remains is to give it its right names.
  const linked = await linkShards(folder, interim, files);
  if (linked.length < files.length) {
    await old.remove(interim, linked);
    return;
  }
  await old.replaceIndex(indexOf(files));
  await old.remove(files, interim);
}

async function nameShards(folder: string, parts: readonly Part[], files: readonly string[]): Promise<void> {
  const named: string[] = [];
  try {
    for (const [i, { draft }] of parts.entries()) {
      await draft.publish(join(folder, files[i]!));
      named.push(files[i]!);
    }
  } catch (error) {
    for (const file of named) await removeQuietly(join(folder, file));
    throw error;
  }
  await syncDirectory(folder);
}

/** Gives files second names, in place of the files that have them. Returns those; not all where the system has no such links. */
async function linkShards(folder: string, from: readonly string[], to: readonly string[]): Promise<string[]> {
  const linked: string[] = [];
  for (const [i, file] of to.entries()) {
    const temporary = join(folder, temporaryName(file));
    try {
      await link(join(folder, from[i]!), temporary);
      await rename(temporary, join(folder, file));
      linked.push(file);
    } catch {
      await removeQuietly(temporary);
      return linked;
    }
  }
  await syncDirectory(folder);
  return linked;
}

function requireFileName(name: string): void {
  const isPlain = typeof name === 'string' && name !== '' && !/[/\\\0:]/.test(name) && name.isWellFormed();
  if (isPlain && name !== '.' && name !== '..') return;
  throw new SafeTensorsError(
    'INVALID_ARGUMENT',
    `name is what the files' names begin with, without separators, not ${shown(name)}`,
  );
}

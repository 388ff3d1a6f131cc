// Owns the saving of a model: its shards, then its index, so that the directory always holds the old or the new model.
// Refuses to touch what stands there before the new model is complete.

import { link, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { quote, SafeTensorsError } from './errors.js';
import { OldModel, targetIn } from './old-model.js';
import { pathOf } from './open.js';
import type { Payload } from './payload.js';
import { type Draft, syncDirectory, writeDraft } from './replacing.js';
import { type SaveProgress, writePlan } from './save.js';
import type { SerializeOptions } from './serialize.js';
import { indexText, interimName, parseByteSize, shardNames, splitByBytes } from './shard-plan.js';
import { ownerTag, temporaryName } from './temporary.js';
import { payloadsOf, type TensorInputs } from './tensor-input.js';
import { planFile, requireNames } from './writing.js';

export interface SaveModelOptions extends SerializeOptions, SaveProgress {
  /**
   * Most bytes of tensors in one file: a number, or a text like '5GB' (the default; 10^9 bytes each) or '512MiB'. A larger
   * tensor has a file of its own.
   */
  readonly maxShardSize?: number | string | undefined;
  /** What the files' names begin with. Default: 'model'. */
  readonly name?: string | undefined;
}

/** One file of the model that is being saved. */
interface Part {
  /** Its right name. */
  readonly file: string;
  readonly draft: Draft;
}

/**
 * Saves tensors as a model: `model.safetensors`, or shards `model-00001-of-0000N.safetensors` and, last, the index
 * `model.safetensors.index.json`. Tensors are spread over the shards in the order given. A model of the same name in the
 * directory is replaced, other shards of that name removed: until the new one is complete, and if this fails before, the
 * old one is what a reader finds. The
 * directory is made if it is missing; links to files in it are replaced, not followed. One save at a time.
 * `metadata` goes into each shard. Throws what `save` throws.
 */
export async function saveModel(
  directory: string | URL,
  tensors: TensorInputs,
  options: SaveModelOptions = {},
): Promise<void> {
  const { signal, onProgress, name = 'model' } = options;
  signal?.throwIfAborted();
  requireFileName(name);
  const payloads = payloadsOf(tensors);
  requireNames(payloads);
  const groups = splitByBytes(payloads, parseByteSize(options.maxShardSize ?? '5GB'));
  const plans = groups.map((group) => planFile(group, options.metadata, options.alignment));
  const files = shardNames(name, groups.length);
  const total = plans.reduce((sum, plan) => sum + plan.byteLength, 0);
  const folder = pathOf(directory);

  const parts: Part[] = [];
  try {
    await mkdir(folder, { recursive: true });
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
  if (!(await linkShards(folder, interim, files))) {
    await old.remove(interim, files);
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
    for (const file of named) await rm(join(folder, file), { force: true });
    throw error;
  }
  await syncDirectory(folder);
}

/** Gives files second names, in place of the files that have them. False where the file system has no such links. */
async function linkShards(folder: string, from: readonly string[], to: readonly string[]): Promise<boolean> {
  for (const [i, file] of to.entries()) {
    const temporary = join(folder, temporaryName(file));
    try {
      await link(join(folder, from[i]!), temporary);
      await rename(temporary, join(folder, file));
    } catch {
      await rm(temporary, { force: true });
      return false;
    }
  }
  await syncDirectory(folder);
  return true;
}

function requireFileName(name: string): void {
  const isPlain = typeof name === 'string' && name !== '' && !/[/\\\0:]/.test(name) && name.isWellFormed();
  if (isPlain && name !== '.' && name !== '..') return;
  throw new SafeTensorsError(
    'INVALID_ARGUMENT',
    `name is what the files' names begin with, without separators, not ${typeof name === 'string' ? quote(name) : typeof name}`,
  );
}

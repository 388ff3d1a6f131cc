// Owns what stands in a directory under the name of a model that is being replaced: its index, its shards, what interrupted
// saves have left. Refuses to remove a shard that the model's own index did not name.

import { lstat, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { SafeTensorsError } from './errors.js';
import { MAX_HEADER_LENGTH } from './header.js';
import { readIndex } from './open.js';
import { replaceFile, syncDirectory, type Target, targetAt } from './replacing.js';
import { writeBytes } from './save.js';
import { parseShardIndex } from './shard-index.js';
import { indexName, parseShardName, singleName } from './shard-plan.js';
import { isTemporaryOf, removeAbandoned, removeLeftovers } from './temporary.js';

/** A file of the directory as it stands there; of a link, the place of the link. Throws NOT_A_REGULAR_FILE. */
export async function targetIn(folder: string, file: string): Promise<Target> {
  const path = join(folder, file);
  return (await targetAt(path)) ?? { path, mode: undefined };
}

/** What stands in a directory under a model's name. */
export class OldModel {
  readonly #folder: string;
  readonly #name: string;
  /** Shards that the index names, where there is one that can be read. */
  readonly #shards: readonly string[];

  private constructor(folder: string, name: string, shards: readonly string[]) {
    this.#folder = folder;
    this.#name = name;
    this.#shards = shards;
  }

  static async find(folder: string, name: string): Promise<OldModel> {
    const path = join(folder, indexName(name));
    await targetIn(folder, indexName(name)); // refuses a directory or a device in its place
    try {
      return new OldModel(folder, name, parseShardIndex(await readIndex(path, MAX_HEADER_LENGTH), path).shards);
    } catch (error) {
      const isAbsent = (error as NodeJS.ErrnoException).code === 'ENOENT';
      if (isAbsent || error instanceof SafeTensorsError) return new OldModel(folder, name, []);
      throw error;
    }
  }

  /** Removes what interrupted saves of this model have left. */
  async removeLeftovers(): Promise<void> {
    const name = this.#name;
    await removeLeftovers(this.#folder, (found) => {
      const isPart = parseShardName(name, found) !== undefined;
      return isPart || isTemporaryOf(singleName(name), found) || isTemporaryOf(indexName(name), found);
    });
    await removeAbandoned(this.#folder, (file) =>
      this.#shards.includes(file) ? undefined : parseShardName(name, file)?.tag,
    );
  }

  /** Whether one of these files stands there already. */
  async uses(files: readonly string[]): Promise<boolean> {
    for (const file of files) {
      const exists = await lstat(join(this.#folder, file)).then(
        () => true,
        () => false,
      );
      if (exists) return true;
    }
    return false;
  }

  async replaceIndex(text: string): Promise<void> {
    const target = await targetIn(this.#folder, indexName(this.#name));
    const bytes = Buffer.from(text);
    await replaceFile(target, (descriptor) => writeBytes(descriptor, bytes));
  }

  /**
   * Removes what the old model was made of but `kept`: the single file or the index, shards that the old index names, where
   * they have names of this model's, and `others`. A link is removed, not what it leads to.
   */
  async remove(kept: readonly string[], others: readonly string[] = []): Promise<void> {
    const single = singleName(this.#name);
    // First what a reader looks for, then what that names.
    if (kept.includes(single)) await this.#remove(indexName(this.#name));
    else await this.#remove(single);
    await syncDirectory(this.#folder);
    const shards = this.#shards.filter((file) => parseShardName(this.#name, file) !== undefined);
    for (const file of new Set([...shards, ...others])) {
      if (kept.includes(file)) continue;
      const status = await lstat(join(this.#folder, file)).catch(() => undefined);
      if (status !== undefined && !status.isDirectory()) await this.#remove(file);
    }
  }

  async #remove(file: string): Promise<void> {
    await rm(join(this.#folder, file), { force: true });
  }
}

// Owns the options of writing: what they are, and each read once. Refuses values of other types than theirs.
// Sizes, names and metadata are checked where they are used.

import { SafeTensorsError, shown } from './errors.js';
import type { MetadataInput } from './writing.js';

/** What goes into a file beside its tensors. */
export interface SerializeOptions {
  /**
   * Written as `__metadata__`, its keys sorted. Default: that of the open file or model that is saved, if it is one (of a
   * sharded model what all shards say); `{}` drops it.
   */
  readonly metadata?: MetadataInput | undefined;
  /**
   * The data starts at a multiple of so many bytes of the file: a power of two from 8, the default and the reference
   * writer's, to 2 MiB. 64 or 4096 serve readers that want aligned memory.
   */
  readonly alignment?: number | undefined;
}

/** What a save reports, and what stops it. */
export interface SaveProgress {
  /** Rejects the promise with the signal's reason; what was there before is as it was, and nothing is left behind. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Hears after each piece how many bytes are written, of how many; the last call has both equal. Stops the save by
   * throwing. A promise that it returns is not waited for.
   */
  readonly onProgress?: ((written: number, total: number) => void) | undefined;
}

/** How `save` writes one file. */
export interface SaveOptions extends SerializeOptions, SaveProgress {
  /**
   * True, the default, writes a new file and renames it, so that the path holds the old file or the new one, whole, at
   * any moment. False writes over the file where it stands, for systems that cannot rename over one; whoever has it
   * mapped then sees it change and shrink.
   */
  readonly atomic?: boolean | undefined;
}

/** How `saveModel` splits and names a model. */
export interface SaveModelOptions extends SerializeOptions, SaveProgress {
  /**
   * Most bytes of tensors in one file: a number, or a text like '5GB' (the default; 10^9 bytes each) or '512MiB'. A larger
   * tensor has a file of its own.
   */
  readonly maxShardSize?: number | string | undefined;
  /** What the files' names begin with. Default: 'model'. */
  readonly name?: string | undefined;
}

/** The options of `serialize`. Throws INVALID_ARGUMENT. */
export function serializeOptions(options: SerializeOptions): SerializeOptions {
  requireObject(options);
  const { metadata, alignment } = options;
  return { metadata, alignment };
}

/** The options of `save`. Throws INVALID_ARGUMENT. */
export function saveOptions(options: SaveOptions): SaveOptions & { readonly atomic: boolean } {
  const common = commonOptions(options);
  const { atomic = true } = options;
  if (typeof atomic !== 'boolean') throw invalid(`atomic is true or false, not ${shown(atomic)}`);
  return { ...common, atomic };
}

/** The options of `saveModel`. Throws INVALID_ARGUMENT. */
export function saveModelOptions(options: SaveModelOptions): SaveModelOptions & { readonly name: string } {
  const common = commonOptions(options);
  const { maxShardSize, name = 'model', atomic }: SaveModelOptions & { atomic?: unknown } = options;
  if (atomic !== undefined && atomic !== true) {
    throw invalid(
      'saveModel has no `atomic: false`: only by renaming does a directory hold one whole model at any moment',
    );
  }
  return { ...common, maxShardSize, name };
}

function commonOptions(options: SerializeOptions & SaveProgress): SerializeOptions & SaveProgress {
  const { metadata, alignment } = serializeOptions(options);
  const { signal, onProgress } = options;
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw invalid(`signal is an AbortSignal, not ${shown(signal)}`);
  }
  if (onProgress !== undefined && typeof onProgress !== 'function') {
    throw invalid(`onProgress is a function, not ${shown(onProgress)}`);
  }
  return { metadata, alignment, signal, onProgress };
}

function requireObject(options: unknown): void {
  if (typeof options === 'object' && options !== null) return;
  throw invalid(`options are an object, not ${shown(options)}`);
}

function invalid(message: string): SafeTensorsError {
  return new SafeTensorsError('INVALID_ARGUMENT', message);
}

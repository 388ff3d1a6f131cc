// Owns the reading face that one file and a model of many share: a ReadonlyMap from names to tensors.
// Refuses to know where tensors come from.

/// <reference lib="esnext.disposable" preserve="true" />

import type { FileSystem } from './file-system.js';
import type { TensorInfo } from './header.js';
import type { PrefetchOptions } from './prefetch.js';
import type { TensorNames } from './selection.js';
import type { TensorView } from './tensor.js';

/** How much of something is in memory. */
export interface Residency {
  /** All its bytes. */
  readonly bytes: number;
  /** Those that no disk has to be asked for; undefined where the system does not say. */
  readonly residentBytes: number | undefined;
}

/** A ReadonlyMap of names to tensors, in order of offset. Each look-up makes a new, light TensorView. */
export abstract class TensorMap implements ReadonlyMap<string, TensorView> {
  /** Number of tensors. */
  abstract readonly size: number;
  /** Whether close() was called. */
  abstract readonly closed: boolean;

  /** What the file lies on, and whether a page fault there goes over a network; undefined after parse(). */
  abstract readonly fileSystem: FileSystem | undefined;

  abstract has(name: string): boolean;

  /** A tensor by its name. Throws TENSOR_NOT_FOUND, naming the closest names, or CLOSED. */
  abstract tensor(name: string): TensorView;

  /** What the file says of a tensor, frozen. Throws TENSOR_NOT_FOUND; answers after close() too. */
  abstract info(name: string): TensorInfo;

  abstract keys(): Generator<string, undefined, unknown>;

  abstract values(): Generator<TensorView, undefined, unknown>;

  /**
   * Brings tensors into memory before they are used: one by its name, several, or all. Off the event loop, in file order; a
   * touch afterwards waits for no disk, as long as the system has the memory. With `read` the bytes come into the page cache.
   * Rejects with the signal's reason, with what `onProgress` throws or rejects with, with TENSOR_NOT_FOUND, INVALID_ARGUMENT,
   * TRUNCATED_DATA when the file has become shorter, CLOSED when it is closed meanwhile, and the system's error (EIO …).
   */
  abstract prefetch(names?: TensorNames, options?: PrefetchOptions): Promise<void>;

  /**
   * How much is in memory now, of one tensor, of several, or of all: in the system's page cache, whoever brought it there.
   * `residentBytes` is undefined where the system does not say. Throws TENSOR_NOT_FOUND, INVALID_ARGUMENT, CLOSED.
   */
  abstract residency(names?: TensorNames): Residency;

  /**
   * Gives the memory of tensors back to the system; their next use reads the file again. Views stay as they are: pages that
   * were written to are kept, with what was written. Only whole pages go, and from the page cache only those that no other
   * mapping uses. Throws TENSOR_NOT_FOUND, INVALID_ARGUMENT, CLOSED.
   */
  abstract evict(names?: TensorNames): void;

  /**
   * Takes the memory away from every array over the file: each has length 0 afterwards, tensors throw CLOSED, and the
   * header still answers. Work that Node does elsewhere on a view (a response, zlib, a write) goes on; the mapping itself
   * ends with the last buffer. What was written to views is lost. A second call does nothing.
   */
  abstract close(): void;

  /** A tensor by its name, or undefined. Throws CLOSED. */
  get(name: string): TensorView | undefined {
    return this.has(name) ? this.tensor(name) : undefined;
  }

  *entries(): Generator<[string, TensorView], undefined, unknown> {
    for (const tensor of this.values()) yield [tensor.name, tensor];
  }

  forEach(callback: (tensor: TensorView, name: string, map: ReadonlyMap<string, TensorView>) => void): void {
    for (const [name, tensor] of this) callback(tensor, name, this);
  }

  [Symbol.iterator](): Generator<[string, TensorView], undefined, unknown> {
    return this.entries();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }
}

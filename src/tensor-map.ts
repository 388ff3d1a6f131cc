// Owns the reading face that one file and a model of many share: a ReadonlyMap from names to tensors.
// Refuses to know where tensors come from.

import type { TensorInfo } from './header.js';
import type { TensorView } from './tensor.js';

/** A ReadonlyMap of names to tensors, in order of offset. Each look-up makes a new, light TensorView. */
export abstract class TensorMap implements ReadonlyMap<string, TensorView> {
  /** Number of tensors. */
  abstract readonly size: number;
  /** Whether close() was called. */
  abstract readonly closed: boolean;

  abstract has(name: string): boolean;

  /** A tensor by its name. Throws TENSOR_NOT_FOUND, naming the closest names, or CLOSED. */
  abstract tensor(name: string): TensorView;

  /** What the file says of a tensor, frozen. Throws TENSOR_NOT_FOUND; answers after close() too. */
  abstract info(name: string): TensorInfo;

  abstract keys(): Generator<string, undefined, unknown>;

  abstract values(): Generator<TensorView, undefined, unknown>;

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

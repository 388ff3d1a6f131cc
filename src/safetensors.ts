// Owns one open file: its header, the source of its bytes, and whether it is closed.
// Refuses to open or map anything: it is given both.

import { inspect } from 'node:util';

import { quote, SafeTensorsError } from './errors.js';
import type { Header, TensorInfo } from './header.js';
import type { Backend, Protection, Source } from './source.js';
import { type Misaligned, type TensorFile, TensorView } from './tensor.js';
import { TensorMap } from './tensor-map.js';

/** One open safetensors file. Made by `open`, `openSync` and `parse`. */
export class SafeTensors extends TensorMap {
  /** What the file says of its tensors. */
  readonly header: Header;
  /** Where the bytes come from: `mmap`, `read`, or `memory` after parse(). */
  readonly backend: Backend;
  /** What a write into a view does: `copy-on-write` keeps it in this process, with `read-only` it ends the process. */
  readonly protection: Protection | undefined;
  readonly #file: OpenFile;

  private constructor(header: Header, source: Source, misaligned: Misaligned) {
    super();
    this.header = header;
    this.backend = source.backend;
    this.protection = source.protection;
    this.#file = new OpenFile(header, source, misaligned);
  }

  /** @internal Joins a header with the source of its bytes. */
  static over(header: Header, source: Source, misaligned: Misaligned): SafeTensors {
    return new SafeTensors(header, source, misaligned);
  }

  /** The file's path; undefined after parse(). */
  get path(): string | undefined {
    return this.header.path;
  }

  get size(): number {
    return this.header.size;
  }

  /** Length of the file in bytes. */
  get byteLength(): number {
    return this.header.byteLength;
  }

  /** `__metadata__`; empty when the file has none. */
  get metadata(): ReadonlyMap<string, string> {
    return this.header.metadata;
  }

  get closed(): boolean {
    return this.#file.closed;
  }

  has(name: string): boolean {
    return this.header.has(name);
  }

  override get(name: string): TensorView | undefined {
    this.#file.requireSource();
    const position = this.header.positionOf(name);
    return position < 0 ? undefined : TensorView.of(this.#file, position);
  }

  tensor(name: string): TensorView {
    this.#file.requireSource();
    return TensorView.of(this.#file, this.header.requirePosition(name));
  }

  info(name: string): TensorInfo {
    return this.header.info(name);
  }

  keys(): Generator<string, undefined, unknown> {
    return this.header.keys();
  }

  *values(): Generator<TensorView, undefined, unknown> {
    for (let position = 0; position < this.size; position++) {
      this.#file.requireSource();
      yield TensorView.of(this.#file, position);
    }
  }

  close(): void {
    this.#file.close();
  }

  get [Symbol.toStringTag](): string {
    return 'SafeTensors';
  }

  /** @internal */
  [inspect.custom](): string {
    const state = this.closed ? 'closed' : this.backend;
    return `SafeTensors ${this.path === undefined ? '(in memory)' : quote(this.path)} ${this.size} tensors, ${this.byteLength} bytes, ${state}`;
  }
}

/** The part of an open file that tensors hold on to. */
class OpenFile implements TensorFile {
  readonly header: Header;
  readonly misaligned: Misaligned;
  readonly #source: Source;
  closed = false;

  constructor(header: Header, source: Source, misaligned: Misaligned) {
    this.header = header;
    this.misaligned = misaligned;
    this.#source = source;
  }

  get path(): string | undefined {
    return this.header.path;
  }

  requireSource(): Source {
    if (this.closed) {
      throw new SafeTensorsError('CLOSED', `${this.path === undefined ? 'the file' : quote(this.path)} is closed`, {
        path: this.path,
      });
    }
    return this.#source;
  }

  wouldAlias(begin: number, elementSize: number): boolean {
    return this.#source.aliases && this.#source.byteOffsetOf(this.header.dataOffset + begin) % elementSize === 0;
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.#source.close();
  }
}

// Owns one open file: its header, the source of its bytes, and whether it is closed.
// Refuses to open or map anything: it is given both.

import { inspect } from 'node:util';

import { quote, SafeTensorsError } from './errors.js';
import type { FileSystem } from './file-system.js';
import type { Header, TensorInfo } from './header.js';
import { type PrefetchOptions, prefetchOptions, prefetchParts } from './prefetch.js';
import { evictableOf, namesOf, rangesOf, type TensorNames } from './selection.js';
import { type Backend, lengthOf, type Protection, type Source } from './source.js';
import { type Misaligned, type TensorFile, TensorView } from './tensor.js';
import { type Residency, TensorMap } from './tensor-map.js';

let exposeSource: (file: SafeTensors) => Source;

/** Where a file's bytes come from; not for users. Throws CLOSED. */
export function sourceOf(file: SafeTensors): Source {
  return exposeSource(file);
}

/** One open safetensors file. Made by `open`, `openSync` and `parse`. */
export class SafeTensors extends TensorMap {
  /** What the file says of its tensors. */
  readonly header: Header;
  /** Where the bytes come from: `mmap`, `read`, or `memory` after parse(). */
  readonly backend: Backend;
  /** What a write into a view does: `copy-on-write` keeps it in this process, with `read-only` it ends the process. */
  readonly protection: Protection | undefined;
  readonly fileSystem: FileSystem | undefined;
  readonly #file: OpenFile;

  static {
    exposeSource = (file) => file.#file.requireSource();
  }

  private constructor(header: Header, source: Source, misaligned: Misaligned, fileSystem: FileSystem | undefined) {
    super();
    this.header = header;
    this.backend = source.backend;
    this.protection = source.protection;
    this.fileSystem = fileSystem;
    this.#file = new OpenFile(header, source, misaligned);
  }

  /** @internal Joins a header with the source of its bytes. */
  static over(header: Header, source: Source, misaligned: Misaligned, fileSystem?: FileSystem): SafeTensors {
    return new SafeTensors(header, source, misaligned, fileSystem);
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

  async prefetch(names?: TensorNames, options: PrefetchOptions = {}): Promise<void> {
    // Read before the file is asked for: a getter or an iterator may close it.
    const resolved = prefetchOptions(options);
    const ranges = rangesOf(this.header, namesOf(names));
    const open = () => this.#file.requireSource();
    open();
    await prefetchParts([{ path: this.path, fileSystem: this.fileSystem, ranges, open }], resolved);
  }

  residency(names?: TensorNames): Residency {
    const ranges = rangesOf(this.header, namesOf(names));
    return { bytes: lengthOf(ranges), residentBytes: this.#file.requireSource().residentBytes(ranges) };
  }

  evict(names?: TensorNames): void {
    const ranges = evictableOf(this.header, namesOf(names));
    this.#file.requireSource().evict(ranges);
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

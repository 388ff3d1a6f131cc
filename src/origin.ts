// Owns the way back to the file behind a mapping, whose descriptor was closed when it was mapped: its path, and what tells
// it from another file that has taken the path since. Refuses to hold a descriptor between two calls.

import { accessSync, type BigIntStats, closeSync, constants, fstat, fstatSync, open, openSync } from 'node:fs';
import { promisify } from 'node:util';

import { FileDescriptor } from './descriptor.js';
import type { FileSystem } from './file-system.js';

// With O_NONBLOCK, since a FIFO may have taken the path.
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

const openAsync = promisify(open);
const statAsync: (descriptor: number, options: { bigint: true }) => Promise<BigIntStats> = promisify(fstat);

export class Origin {
  readonly fileSystem: FileSystem;
  readonly #path: string;
  readonly #device: bigint;
  readonly #inode: bigint;
  readonly #owner: bigint;

  /** `path` is absolute, since the working directory may change; `status` is that of the open file. */
  constructor(path: string, status: BigIntStats, fileSystem: FileSystem) {
    this.fileSystem = fileSystem;
    this.#path = path;
    this.#device = status.dev;
    this.#inode = status.ino;
    this.#owner = status.uid;
  }

  /** Opens the file off the event loop, for the caller to close; undefined when the path does not lead to it any more. */
  async open(): Promise<FileDescriptor | undefined> {
    const number = await openAsync(this.#path, OPEN_FLAGS).catch(() => -1);
    if (number < 0) return undefined;
    const descriptor = new FileDescriptor(number);
    const status = await statAsync(number, { bigint: true }).catch(() => undefined);
    if (status !== undefined && this.#isSame(status)) return descriptor;
    descriptor.close();
    return undefined;
  }

  /** Uses the file off the event loop; false when the path does not lead to it any more. Rejects with what `use` does. */
  async use(use: (descriptor: number) => Promise<void>): Promise<boolean> {
    const descriptor = await this.open();
    if (descriptor === undefined) return false;
    try {
      await descriptor.holding(use);
      return true;
    } finally {
      descriptor.close();
    }
  }

  /** The same on this thread; undefined when the path does not lead to the file any more. */
  useSync<T>(use: (descriptor: number) => T): T | undefined {
    let descriptor: number;
    try {
      descriptor = openSync(this.#path, OPEN_FLAGS);
    } catch {
      return undefined;
    }
    try {
      return this.#isSame(fstatSync(descriptor, { bigint: true })) ? use(descriptor) : undefined;
    } finally {
      closeSync(descriptor);
    }
  }

  /** Whether mincore(2) tells this process the truth; to others than the owner and writers Linux says that all is resident. */
  get tellsResidency(): boolean {
    const user = process.geteuid?.();
    if (user === 0 || (user !== undefined && BigInt(user) === this.#owner)) return true;
    try {
      accessSync(this.#path, constants.W_OK);
      return true;
    } catch {
      return false;
    }
  }

  /** The mapping keeps the inode, so no other file can have its number meanwhile. */
  #isSame(status: BigIntStats): boolean {
    return status.dev === this.#device && status.ino === this.#inode;
  }
}

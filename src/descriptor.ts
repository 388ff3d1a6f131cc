// Owns a descriptor that ranges are read from: exactly the bytes that were asked for, on this thread or off it, and its end.
// Refuses a range that the file no longer has, and to close while a read is under way.

import { closeSync, read, readSync } from 'node:fs';
import { promisify } from 'node:util';

import { allocateBytes } from './allocation.js';
import { SafeTensorsError } from './errors.js';
import { shortened } from './read-ahead.js';

/** One read call moves fewer than 2^31 bytes. */
const MOST_PER_CALL = 2 ** 30;

// A file that is dropped without close() must not keep its descriptor.
const forgotten = new FinalizationRegistry<{ descriptor: number }>((held) => {
  release(held);
});

const readAsync = promisify(read);

/** Reads [begin, end) of a file, into `target` where one is given; throws TRUNCATED_DATA when the file ends before. */
export function readRangeSync(
  descriptor: number,
  begin: number,
  end: number,
  target: Uint8Array = allocateBytes(end - begin),
): Uint8Array {
  for (let done = 0; done < target.length; ) {
    const count = readSync(descriptor, target, done, Math.min(target.length - done, MOST_PER_CALL), begin + done);
    if (count === 0) throw shortened(begin, end, done);
    done += count;
  }
  return target;
}

/** The same off the event loop. */
export async function readRange(
  descriptor: number,
  begin: number,
  end: number,
  target: Uint8Array = allocateBytes(end - begin),
): Promise<Uint8Array> {
  for (let done = 0; done < target.length; ) {
    const wanted = Math.min(target.length - done, MOST_PER_CALL);
    const { bytesRead } = await readAsync(descriptor, target, done, wanted, begin + done);
    if (bytesRead === 0) throw shortened(begin, end, done);
    done += bytesRead;
  }
  return target;
}

/** Gives a descriptor back. Nothing was written through it, so a failure to close it loses nothing. */
function release(held: { descriptor: number }): void {
  const { descriptor } = held;
  held.descriptor = -1;
  if (descriptor < 0) return;
  try {
    closeSync(descriptor);
  } catch {
    // The system has taken it back all the same (close(2)).
  }
}

/** What the system refused to read, as an error of this library; others pass as they are. */
function readFault(cause: unknown, begin: number, end: number): unknown {
  if (!(cause instanceof Error) || (cause as NodeJS.ErrnoException).syscall === undefined) return cause;
  const message = `bytes [${begin}, ${end}) of the file cannot be read: ${cause.message}`;
  return new SafeTensorsError('READ_FAILED', message, { cause });
}

/** The descriptor of an open file, closed with it, or when it is dropped. */
export class FileDescriptor {
  readonly #held: { descriptor: number };
  /** Reads under way off the event loop. */
  #reads = 0;
  #closed = false;

  /** Takes the descriptor over. */
  constructor(descriptor: number) {
    this.#held = { descriptor };
    forgotten.register(this, this.#held, this);
  }

  /** For a call that ends before this one's caller goes on. */
  get number(): number {
    return this.#held.descriptor;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Fills `target` from byte `begin` on. Throws TRUNCATED_DATA, READ_FAILED. */
  readSync(begin: number, target: Uint8Array): void {
    const end = begin + target.byteLength;
    try {
      readRangeSync(this.#held.descriptor, begin, end, target);
    } catch (cause) {
      throw readFault(cause, begin, end);
    }
  }

  /** The bytes [begin, end), in `target` where one is given. Rejects as `readSync` throws. */
  async read(begin: number, end: number, target?: Uint8Array): Promise<Uint8Array> {
    try {
      return await this.holding((descriptor) => readRange(descriptor, begin, end, target));
    } catch (cause) {
      throw readFault(cause, begin, end);
    }
  }

  /** Keeps the descriptor open until what is done with it has ended. */
  async holding<T>(use: (descriptor: number) => Promise<T>): Promise<T> {
    this.#reads++;
    try {
      return await use(this.#held.descriptor);
    } finally {
      this.#reads--;
      if (this.#closed) this.#release();
    }
  }

  close(): void {
    this.#closed = true;
    this.#release();
  }

  /** Closes the descriptor once no read needs it: its number may be another file's the moment after. */
  #release(): void {
    if (this.#reads > 0) return;
    forgotten.unregister(this);
    release(this.#held);
  }
}

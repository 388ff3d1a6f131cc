// Owns what a file that is read has handed out and is reading: who asks for the same range gets the same memory, and waits
// for the same read. Refuses to keep memory alive: a range that nobody holds any more is read again.

import { optionalBinding } from './binding.js';

/** A buffer that others may or may not hold. */
interface Weak {
  deref(): ArrayBuffer | undefined;
}

/** Entries are looked through only when there are twice as many as were left the last time, and so many at least. */
const FEWEST_SWEPT = 64;

export class HeldRanges {
  /** By the buffer: users may hold any array over it. */
  readonly #held = new Map<string, Weak>();
  readonly #reading = new Map<string, Promise<Uint8Array>>();
  #mostHeld = FEWEST_SWEPT;

  /** The bytes [begin, end), if somebody holds them still; whatever was written to them is there. */
  find(begin: number, end: number): Uint8Array | undefined {
    const buffer = this.#held.get(keyOf(begin, end))?.deref();
    // Of another length: its holder has transferred it.
    return buffer?.byteLength === end - begin ? new Uint8Array(buffer) : undefined;
  }

  /** Remembers bytes that fill a buffer of their own, for as long as somebody else does. */
  hold(begin: number, end: number, bytes: Uint8Array<ArrayBuffer>): Uint8Array {
    if (this.#held.size >= this.#mostHeld) {
      for (const [key, held] of this.#held) if (held.deref() === undefined) this.#held.delete(key);
      this.#mostHeld = Math.max(FEWEST_SWEPT, this.#held.size * 2);
    }
    this.#held.set(keyOf(begin, end), weakly(bytes.buffer));
    return bytes;
  }

  /** The read of a range that is under way, else the one that `read` begins. Its bytes are not to be written to. */
  share(begin: number, end: number, read: () => Promise<Uint8Array>): Promise<Uint8Array> {
    const key = keyOf(begin, end);
    let reading = this.#reading.get(key);
    if (reading === undefined) {
      reading = read().finally(() => this.#reading.delete(key));
      this.#reading.set(key, reading);
    }
    return reading;
  }
}

/**
 * Not by WeakRef where there is a choice: that keeps its buffer to the end of the job, and a loop over all tensors of a file
 * is one.
 */
function weakly(buffer: ArrayBuffer): Weak {
  const binding = optionalBinding();
  if (binding === undefined) return new WeakRef(buffer);
  const handle = binding.weaken(buffer);
  return { deref: () => binding.strengthen(handle) };
}

function keyOf(begin: number, end: number): string {
  return `${begin}:${end}`;
}

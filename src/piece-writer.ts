// Owns the stream of bytes into a descriptor: pieces of equal length at multiples of it, each one call on another thread.
// Refuses to know what the bytes mean, and to read what was lent: the system copies it from where it lies.

import { writev } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';

import { allocateBytes } from './allocation.js';
import { optionalBinding } from './binding.js';
import { SafeTensorsError } from './errors.js';
import type { Source } from './source.js';

/**
 * Bytes of one call. Whole pieces at multiples of their own length leave the file in the system's largest pages, so that
 * whoever maps it next takes the fewest faults.
 */
export const PIECE_LENGTH = 8 * 2 ** 20;

/** A piece of more parts than this ends early, so that a million small tensors are not a million objects at a time. */
export const MOST_PARTS = 4096;

/** Most milliseconds of copying between two turns of the event loop. */
const LONGEST_TURN = 2;

const writevAsync = promisify(writev);

/** Memory that is written from where it lies. */
export interface Lent {
  readonly bytes: Uint8Array;
  /** Throws when the memory was taken away. */
  verify(): void;
  /** Where the bytes come from, and where they begin there, when they may have to be fetched first. */
  readonly source?: Source;
  readonly begin?: number;
}

/** One call's worth of bytes. */
class Piece {
  /** What is to be written, in order. */
  readonly parts: Uint8Array[] = [];
  readonly lent: Lent[] = [];
  /** Bytes of the parts. */
  length = 0;
  /** Memory for what is copied; made when first used. */
  #staging: Uint8Array | undefined;
  #staged = 0;
  /** Whether the last part is the end of the staged bytes. */
  #continues = false;

  refer(lent: Lent): void {
    this.parts.push(lent.bytes);
    this.lent.push(lent);
    this.length += lent.bytes.byteLength;
    this.#continues = false;
  }

  reserve(length: number): Uint8Array {
    this.#staging ??= allocateBytes(PIECE_LENGTH);
    const begin = this.#staged;
    this.#staged += length;
    this.length += length;
    const last = this.#continues ? this.parts.pop()!.byteLength : 0;
    this.parts.push(this.#staging.subarray(begin - last, this.#staged));
    this.#continues = true;
    return this.#staging.subarray(begin, this.#staged);
  }

  /** Has the memory of all parts fetched, so that the system finds it when it copies: else it would copy page by page. */
  async populate(): Promise<void> {
    const ranges = new Map<Source, number[]>();
    for (const { bytes, source, begin } of this.lent) {
      if (source === undefined || begin === undefined) continue;
      const end = begin + bytes.byteLength;
      const found = ranges.get(source);
      if (found === undefined) ranges.set(source, [begin, end]);
      else if (found.at(-1) === begin) found[found.length - 1] = end;
      else found.push(begin, end);
    }
    await Promise.all(Array.from(ranges, ([source, list]) => source.populate(list)));
  }

  clear(): void {
    this.parts.length = 0;
    this.lent.length = 0;
    this.length = 0;
    this.#staged = 0;
    this.#continues = false;
  }
}

/** While one piece is written, the next is put together and fetched. */
export class PieceWriter {
  readonly #descriptor: number;
  readonly #afterPiece: (written: number) => void;
  #piece = new Piece();
  /** The one that is not being put together. */
  #other = new Piece();
  /** Of the other one; never rejects. */
  #writing: Promise<void> = Promise.resolve();
  #failure: { readonly error: unknown } | undefined;
  /** Where the next call writes, and where the piece begins that is being put together. */
  #position = 0;
  #begin = 0;
  /** How far the bytes are on their way to the disk, and the call that is sending some; never rejects. */
  #sentTo = 0;
  #sending: Promise<void> | undefined;
  #lastTurn = performance.now();

  /** Writes from the start of a file; `afterPiece` hears how much is written, and stops the writing by throwing. */
  constructor(descriptor: number, afterPiece: (written: number) => void) {
    this.#descriptor = descriptor;
    this.#afterPiece = afterPiece;
  }

  /** Bytes that still fit into the piece; 0 when it has to be flushed. */
  get room(): number {
    if (this.#piece.parts.length >= MOST_PARTS) return 0;
    // After a piece that ended early, the next ends where it would have ended all the same.
    return PIECE_LENGTH - (this.#begin % PIECE_LENGTH) - this.#piece.length;
  }

  /** Takes bytes by reference, at most `room`; they have to stay readable until the writing has settled. */
  refer(lent: Lent): void {
    this.#piece.refer(lent);
  }

  /** Memory for the next `length` bytes, at most `room`; to be filled before the next flush. */
  reserve(length: number): Uint8Array {
    return this.#piece.reserve(length);
  }

  /** Copies bytes of any length, flushing as often as needed. */
  async copy(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.byteLength; ) {
      if (this.room === 0) await this.flush();
      const length = Math.min(this.room, bytes.byteLength - at);
      this.reserve(length).set(bytes.subarray(at, at + length));
      at += length;
    }
  }

  /** Gives the event loop a turn when this one has been long. */
  async breathe(): Promise<void> {
    if (performance.now() - this.#lastTurn < LONGEST_TURN) return;
    await setImmediate();
    this.#lastTurn = performance.now();
  }

  /** Begins to write what has come together. Rejects with what stopped the piece before: an error of the system, of `verify`. */
  async flush(): Promise<void> {
    const piece = this.#piece;
    await Promise.all([piece.populate(), this.#writing]);
    if (this.#failure !== undefined) throw this.#failure.error;
    this.#piece = this.#other;
    this.#other = piece;
    this.#begin += piece.length;
    this.#writing = this.#write(piece).catch((error: unknown) => {
      this.#failure = { error };
    });
    this.#lastTurn = performance.now();
  }

  /** Writes all that is left. */
  async finish(): Promise<void> {
    if (this.#piece.length > 0) await this.flush();
    await this.settle();
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** Waits until no call is under way, so that memory and descriptor may be given back. Never rejects. */
  async settle(): Promise<void> {
    await this.#writing;
    await this.#sending;
  }

  async #write(piece: Piece): Promise<void> {
    let failure: unknown;
    try {
      await writeAll(this.#descriptor, piece.parts, this.#position);
    } catch (error) {
      failure = explained(error);
    }
    // Also after a failure: memory that is gone makes the system refuse, and is the better explanation.
    for (const lent of piece.lent) lent.verify();
    if (failure !== undefined) throw failure;
    this.#position += piece.length;
    piece.clear();
    this.#afterPiece(this.#position);
    this.#send();
  }

  /**
   * Sends what is written on its way to the disk, while more is written. Left to itself, Linux lets it come together until a
   * fifth of the memory waits; the disk has nothing to do until then, and the flush at the end waits for all of it.
   */
  #send(): void {
    const begin = this.#sentTo;
    const length = this.#position - begin;
    if (this.#sending !== undefined || length < PIECE_LENGTH) return;
    this.#sentTo = this.#position;
    this.#sending = optionalBinding()
      ?.startWriteback(this.#descriptor, begin, length)
      .then(() => {
        this.#sending = undefined;
      });
  }
}

async function writeAll(descriptor: number, parts: Uint8Array[], position: number): Promise<void> {
  let rest = parts.slice();
  let at = position;
  while (rest.length > 0) {
    const { bytesWritten } = await writevAsync(descriptor, rest, at);
    // Memory that has gone meanwhile has no bytes, which is for `verify` to say.
    if (bytesWritten === 0 && rest.some(({ byteLength }) => byteLength > 0)) throw stuck(at);
    at += bytesWritten;
    rest = after(rest, bytesWritten);
  }
}

function stuck(at: number): Error {
  const message = `EIO: the system took nothing of what was to be written at byte ${at}, write`;
  return Object.assign(new Error(message), { code: 'EIO', syscall: 'write' });
}

/** The system's error, but for memory that it could not read. */
function explained(error: unknown): unknown {
  if ((error as NodeJS.ErrnoException).code !== 'EFAULT') return error;
  return new SafeTensorsError(
    'TRUNCATED_DATA',
    'bytes that were to be written cannot be read any more: the file that they are mapped from has become shorter',
    { cause: error },
  );
}

/** What remains of parts when the system has taken `count` bytes of them. */
function after(parts: Uint8Array[], count: number): Uint8Array[] {
  let left = count;
  for (let i = 0; i < parts.length; i++) {
    const { byteLength } = parts[i]!;
    if (left < byteLength) return [parts[i]!.subarray(left), ...parts.slice(i + 1)];
    left -= byteLength;
  }
  return [];
}

// Owns filling the system's page cache by reading: large calls into a little memory that is used over and over.
// Refuses to keep what it reads; whoever needs the bytes finds them in the cache.

import { readv } from 'node:fs';
import { promisify } from 'node:util';

import { SafeTensorsError } from './errors.js';

/** Small enough to stay in a processor's cache, so that the copy out of the page cache costs little. */
const SCRATCH_BYTES = 2 ** 18;

/** How often that memory is named in one call: 8 MiB, so that calls are few and the disk sees long requests. */
const PARTS = 32;

/** Gaps up to this are read along: shorter than what the system reads ahead. */
const SHORT_GAP = 2 ** 17;

const readvAsync = promisify(readv);

/**
 * Reads ranges [begin, end), [begin, end) … of a file, in ascending order, off the event loop. Rejects with
 * TRUNCATED_DATA when the file ends before, and with the system's error. The descriptor has to stay open meanwhile.
 */
export async function readAhead(descriptor: number, ranges: readonly number[]): Promise<void> {
  const scratch = new Uint8Array(Math.min(SCRATCH_BYTES, ranges.at(-1)! - ranges[0]!));
  for (let i = 0; i < ranges.length; ) {
    const begin = ranges[i]!;
    do i += 2;
    while (i < ranges.length && ranges[i]! - ranges[i - 1]! <= SHORT_GAP);
    await readThrough(descriptor, begin, ranges[i - 1]!, scratch);
  }
}

/** The error of a range that the file had when it was opened: of it, `done` bytes are there. */
export function shortened(begin: number, end: number, done: number): SafeTensorsError {
  const found =
    done > 0
      ? `the file ends at byte ${begin + done}, inside the range [${begin}, ${end})`
      : `the file ends before byte ${begin + 1}, so that nothing of the range [${begin}, ${end}) is there`;
  return new SafeTensorsError('TRUNCATED_DATA', `${found}: it has become shorter since it was opened`);
}

async function readThrough(descriptor: number, begin: number, end: number, scratch: Uint8Array): Promise<void> {
  for (let at = begin; at < end; ) {
    const parts: Uint8Array[] = [];
    for (let left = end - at; left > 0 && parts.length < PARTS; left -= scratch.length) {
      parts.push(left < scratch.length ? scratch.subarray(0, left) : scratch);
    }
    const { bytesRead } = await readvAsync(descriptor, parts, at);
    if (bytesRead === 0) throw shortened(begin, end, at - begin);
    at += bytesRead;
  }
}

// Owns the writing of a long result to a stream, at the reader's pace.
// Refuses to hold a whole listing as one string, and to call a reader who left early a failure.

import type { Writable } from 'node:stream';

/** UTF-16 units gathered before a write: large enough that system calls do not count, small enough to be nothing. */
const BATCH = 1 << 16;

/**
 * Writes the pieces in order, waiting for the stream after each batch. Resolves early when the reader has gone
 * (EPIPE: `… | head`), without asking for the remaining pieces; rejects with the system's error otherwise.
 */
export async function writeAll(stream: Writable, pieces: Iterable<string>): Promise<void> {
  // The failure is taken from the write's callback; the event would end the process.
  const ignore = () => {};
  stream.on('error', ignore);
  try {
    let batch = '';
    for (const piece of pieces) {
      batch += piece;
      if (batch.length < BATCH) continue;
      await write(stream, batch);
      batch = '';
    }
    if (batch !== '') await write(stream, batch);
  } catch (error) {
    if (!isReaderGone(error)) throw error;
  } finally {
    // The event follows the callback by a tick.
    setImmediate(() => stream.off('error', ignore));
  }
}

function write(stream: Writable, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

function isReaderGone(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED';
}

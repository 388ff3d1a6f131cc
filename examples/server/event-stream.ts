// Owns the answer as server-sent events: its headers, its frames, the client's pace, its end.
// Refuses to keep what a slow client has not read yet: `send` waits for it.

import type { ServerResponse } from 'node:http';
import { FLUSH_SECONDS } from './limits.js';

/** One response that is a stream of events. */
export class EventStream {
  readonly #response: ServerResponse;

  /** Sends the headers. */
  constructor(response: ServerResponse) {
    this.#response = response;
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      // Proxies that hold answers back would make a stream pointless.
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
    });
    response.flushHeaders();
  }

  /** Sends one event; resolves when the client takes more, is gone, or `signal` is aborted. */
  async send(event: string, data: unknown, signal?: AbortSignal): Promise<void> {
    const response = this.#response;
    if (response.destroyed || response.write(frame(event, data))) return;
    if (signal?.aborted) return;
    await new Promise<void>((resolve) => {
      const proceed = () => {
        response.off('drain', proceed).off('close', proceed);
        signal?.removeEventListener('abort', proceed);
        resolve();
      };
      response.on('drain', proceed).on('close', proceed);
      signal?.addEventListener('abort', proceed);
    });
  }

  /** Sends the last event. A client that does not take it in time is cut off. */
  end(event: string, data: unknown): void {
    const response = this.#response;
    if (response.destroyed) return;
    const beginToCut = () => {
      const cut = setTimeout(() => response.destroy(), FLUSH_SECONDS * 1000).unref();
      response.once('close', () => clearTimeout(cut));
    };
    // One that waits behind another on its connection has no socket yet, and the client no chance to take it.
    if (response.socket === null) response.once('socket', beginToCut);
    else beginToCut();
    response.end(frame(event, data));
  }
}

/** JSON has no line break outside of its escapes, so the data is one line. */
function frame(event: string, data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

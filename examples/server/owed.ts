// Owns the knowledge of which answers each connection is still owed: a client may send requests before it has the answers
// to those before. Refuses to act on it.

import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** The answers under way, on the connections of one server. */
export class Owed {
  readonly #bySocket = new WeakMap<Socket, Set<ServerResponse>>();

  /** Has to be called before the server takes requests. A request counts from before its handlers run. */
  watch(server: Server): void {
    server.prependListener('request', ({ socket }, response) => {
      const owed = this.#bySocket.get(socket) ?? new Set();
      this.#bySocket.set(socket, owed.add(response));
      response.once('close', () => owed.delete(response));
    });
  }

  /** Number of answers that a connection is owed. */
  count(socket: Socket): number {
    return this.#bySocket.get(socket)?.size ?? 0;
  }

  /** Whether a part of an answer has been sent, and the rest not. */
  isWithin(socket: Socket): boolean {
    return [...(this.#bySocket.get(socket) ?? [])].some(({ headersSent }) => headersSent);
  }
}

// Owns the answer to what is no request: bytes that are not HTTP, or that do not end. Refuses to go on with the connection.

import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Problem } from './problems.js';

const OF_NODE: Readonly<Record<string, readonly [line: string, problem: Problem]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [
    '408 Request Timeout',
    new Problem(408, 'REQUEST_TIMEOUT', 'the request did not come in time'),
  ],
  HPE_HEADER_OVERFLOW: [
    '431 Request Header Fields Too Large',
    new Problem(431, 'HEADERS_TOO_LARGE', 'the headers are too long'),
  ],
};

/** What is no request, on the connections of one server. */
export class NoRequests {
  /** The answers that each connection is still owed. */
  readonly #owed = new WeakMap<Socket, Set<ServerResponse>>();

  /** Has to see the answers of the server. */
  watch(server: Server): void {
    server.on('request', ({ socket }, response) => {
      const owed = this.#owed.get(socket) ?? new Set();
      this.#owed.set(socket, owed.add(response));
      response.once('close', () => owed.delete(response));
    });
  }

  /** Writes straight to the socket, since there is nothing to reply to, and ends it. */
  answer(code: string | undefined, socket: Socket): void {
    // In the midst of an answer, another would be taken for a part of it.
    const isAnswering = [...(this.#owed.get(socket) ?? [])].some(({ headersSent }) => headersSent);
    if (isAnswering || !socket.writable || code === 'ECONNRESET') socket.destroy();
    else refuse(code, socket);
  }
}

function refuse(code: string | undefined, socket: Socket): void {
  const [line, problem] = OF_NODE[code ?? ''] ?? [
    '400 Bad Request',
    new Problem(400, 'INVALID_REQUEST', 'this is not HTTP'),
  ];
  const body = JSON.stringify(problem);
  const headers = `content-type: application/json; charset=utf-8\r\ncontent-length: ${body.length}\r\nconnection: close`;
  socket.end(`HTTP/1.1 ${line}\r\n${headers}\r\n\r\n${body}`);
}

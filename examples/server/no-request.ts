// Owns the answer to what is no request: bytes that are not HTTP, or that do not end. Refuses to go on with the connection.

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

/**
 * Writes straight to the socket, since there is nothing to reply to, and ends it. `isWithin` an answer, another would be
 * taken for a part of it, and there is nothing to write.
 */
export function answerNoRequest(code: string | undefined, socket: Socket, isWithin: boolean): void {
  if (isWithin || !socket.writable || code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const [line, problem] = OF_NODE[code ?? ''] ?? [
    '400 Bad Request',
    new Problem(400, 'INVALID_REQUEST', 'this is not HTTP'),
  ];
  const body = JSON.stringify(problem);
  const headers = `content-type: application/json; charset=utf-8\r\ncontent-length: ${body.length}\r\nconnection: close`;
  socket.end(`HTTP/1.1 ${line}\r\n${headers}\r\n\r\n${body}`);
}

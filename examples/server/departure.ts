// Owns the moment when a client has gone. Refuses to ask the response: one that waits behind another on the same connection
// is never told.

import type { FastifyRequest } from 'fastify';

/** Calls back when the connection of a request closes, at once where it has; the function returned takes that back. */
export function onDeparture({ raw: { socket } }: FastifyRequest, callback: () => void): () => void {
  if (socket.destroyed) callback();
  else socket.once('close', callback);
  return () => socket.off('close', callback);
}

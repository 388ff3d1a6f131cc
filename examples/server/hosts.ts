// Owns the question whether a request was meant for this server. A page of another site can make the browser send requests
// to this machine, under a name of its own that leads here. Refuses those; other programs are not its affair.

import type { IncomingHttpHeaders } from 'node:http';
import { Problem } from './problems.js';

/** Names under which a server that listens on this machine alone is reached. */
const OWN_NAMES: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

/** Whether a server that listens on this address is reached from this machine only. */
export function isLoopback(address: string): boolean {
  return address === 'localhost' || address === '::1' || address.startsWith('127.');
}

/** Throws a Problem when the browser says that a page of another site asks. */
export function requireOwnSite({ host = '', origin }: IncomingHttpHeaders, onLoopback: boolean): void {
  if (onLoopback && !OWN_NAMES.includes(host.replace(/:\d+$/, ''))) {
    throw new Problem(403, 'WRONG_HOST', `this server is ${OWN_NAMES.join(', ')}, and no other host`);
  }
  if (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`) {
    throw new Problem(403, 'WRONG_ORIGIN', 'pages of other sites may not use this server');
  }
}

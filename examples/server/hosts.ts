// Owns the question whether a request was meant for this server. A page of another site can make the browser send requests
// to this machine, under a name of its own that leads here. Refuses those; other programs are not its affair.

import type { IncomingHttpHeaders } from 'node:http';
import { Problem } from './problems.js';

/** Under which a server that listens on this machine alone is reached: no name that another machine could have. */
const OWN_NAMES = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i;

/** Whether a server that listens on this address is reached from this machine only. */
export function isLoopback(address: string): boolean {
  return OWN_NAMES.test(address.includes(':') ? `[${address}]` : address);
}

/** Throws a Problem when the browser says that a page of another site asks. */
export function requireOwnSite({ host = '', origin }: IncomingHttpHeaders, onLoopback: boolean): void {
  if (onLoopback && !OWN_NAMES.test(host)) {
    throw new Problem(403, 'WRONG_HOST', 'this server is localhost, 127.0.0.1, [::1], and no other host');
  }
  if (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`) {
    throw new Problem(403, 'WRONG_ORIGIN', 'pages of other sites may not use this server');
  }
}

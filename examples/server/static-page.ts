// Owns the page at `/`: a fixed list of files beside this one, and what the browser may do with them.
// Refuses paths from requests: what is not in the list does not exist.

import { readFile } from 'node:fs/promises';
import type { FastifyInstance } from 'fastify';

/** Works from here and from where the compiler puts this file, two folders below the root either way. */
const FOLDER = new URL('../../examples/server/page/', import.meta.url);

const FILES: readonly (readonly [route: string, file: string, type: string])[] = [
  ['/', 'index.html', 'text/html; charset=utf-8'],
  ['/page/style.css', 'style.css', 'text/css; charset=utf-8'],
  ['/page/parts.css', 'parts.css', 'text/css; charset=utf-8'],
  ['/page/generate.js', 'generate.js', 'text/javascript; charset=utf-8'],
  ['/page/histogram.js', 'histogram.js', 'text/javascript; charset=utf-8'],
  ['/page/main.js', 'main.js', 'text/javascript; charset=utf-8'],
  ['/page/model.js', 'model.js', 'text/javascript; charset=utf-8'],
  ['/page/server.js', 'server.js', 'text/javascript; charset=utf-8'],
  ['/page/tree.js', 'tree.js', 'text/javascript; charset=utf-8'],
  ['/page/units.js', 'units.js', 'text/javascript; charset=utf-8'],
];

/** Everything from this server, nothing inline, no frame around it. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Adds the page's routes; the files are read once. Rejects when one is missing. */
export async function addPage(app: FastifyInstance): Promise<void> {
  for (const [route, file, type] of FILES) {
    const content = await readFile(new URL(file, FOLDER));
    app.get(route, async (_, reply) =>
      reply
        .type(type)
        .headers({
          'content-security-policy': POLICY,
          'referrer-policy': 'no-referrer',
          'cross-origin-opener-policy': 'same-origin',
          'cache-control': 'no-cache',
        })
        .send(content),
    );
  }
}

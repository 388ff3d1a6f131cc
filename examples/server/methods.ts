// Owns the answer to a known path with the wrong method: 405, with the right ones. Refuses to add paths.

import type { FastifyInstance } from 'fastify';
import { Problem } from './problems.js';

const METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** Watches the routes that are added from now on; the function returned refuses all other methods of their paths. */
export function watchMethods(app: FastifyInstance): () => void {
  const known = new Map<string, Set<string>>();
  let isWatching = true;
  app.addHook('onRoute', ({ url, method }) => {
    if (!isWatching) return;
    const methods = known.get(url) ?? new Set();
    for (const one of [method].flat()) methods.add(one);
    known.set(url, methods);
  });
  return () => {
    isWatching = false;
    for (const [url, methods] of known) {
      const allowed = [...methods].join(', ');
      app.route({
        url,
        method: METHODS.filter((method) => !methods.has(method)),
        // Before the body, which need not be one that is understood.
        onRequest: async (_, reply) => {
          reply.header('allow', allowed);
          throw new Problem(405, 'METHOD_NOT_ALLOWED', `this path takes ${allowed}`);
        },
        handler: () => {},
      });
    }
  };
}

// Owns the HTTP side: routes, limits on what comes in, the form of every refusal, and the order of a shutdown.
// Refuses to choose models, ports or signals: that is main.ts.

import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import type { Load } from './engine.js';
import { CONTENT_TYPE } from './exposition.js';
import { Generations } from './generations.js';
import { isLoopback, requireOwnSite } from './hosts.js';
import { FLUSH_SECONDS, LIMITS, type Limits, LOOK_SECONDS } from './limits.js';
import { watchMethods } from './methods.js';
import { Metrics } from './metrics.js';
import { addModelRoutes } from './model-routes.js';
import { type ModelPlace, Models } from './models.js';
import { answerNoRequest } from './no-request.js';
import { Owed } from './owed.js';
import { busy, Problem, problemOf, shuttingDown } from './problems.js';
import { addPage } from './static-page.js';

/** Milliseconds between two looks for connections that have become idle while the server closes. */
const SWEEP_EVERY = 20;

/** What a server is made of. */
export interface ServerOptions {
  readonly models: readonly ModelPlace[];
  readonly load: Load;
  readonly limits?: Partial<Limits>;
  /** The address to listen on. */
  readonly host?: string;
  /** Hears what the operator should know, line by line. */
  readonly report?: (line: string) => void;
}

/** A server that has not begun to listen, or has. */
export interface Server {
  readonly models: Models;
  /** Begins to listen, and to open the models. Resolves to the address, `http://127.0.0.1:8080`. */
  listen(port: number): Promise<string>;
  /** Takes no more requests, lets streams end for a while, then ends them. Resolves when nothing is left open. */
  close(): Promise<void>;
}

/** Makes a server. Rejects when a file of the page is missing. */
export async function createServer(options: ServerOptions): Promise<Server> {
  const { host = '127.0.0.1', report = () => {} } = options;
  const limits = { ...LIMITS, ...options.limits };
  const models = new Models(options.models, options.load, report);
  const metrics = new Metrics((cause) => report(`failure: ${cause instanceof Error ? cause.stack : String(cause)}`));
  const generations = new Generations(models, limits, metrics);
  const owed = new Owed();
  const app = makeApp(limits, owed);
  let started: Promise<void> | undefined;
  let closing: Promise<void> | undefined;

  app.addHook('onRequest', async ({ headers, raw }, reply) => {
    reply.header('x-content-type-options', 'nosniff');
    if (closing !== undefined) throw shuttingDown();
    requireOwnSite(headers, isLoopback(host));
    if (owed.count(raw.socket) > limits.unanswered) throw busy('requests of this connection', limits.unanswered);
  });
  app.addHook('onResponse', async ({ routeOptions, method }, { raw }) => {
    metrics.onRequest(routeOptions.url ?? 'none', routeOptions.url === undefined ? 'any' : method, raw.statusCode);
  });
  app.setErrorHandler(async (error, _, reply) => {
    const problem = problemOf(error);
    if (problem.status >= 500 && problem.cause !== undefined) metrics.onFailure(problem.cause);
    if (problem.retryAfter !== undefined) reply.header('retry-after', String(problem.retryAfter));
    if (closing !== undefined) reply.header('connection', 'close');
    return reply.code(problem.status).send(problem.toJSON());
  });
  app.setNotFoundHandler(async () => {
    throw new Problem(404, 'NOT_FOUND', 'there is nothing at this path');
  });

  const refuseOtherMethods = watchMethods(app);
  app.post('/generate', (request, reply) => generations.answer(request, reply));
  addModelRoutes(app, models, limits);
  app.get('/health', async () => {
    return { status: 'ok', models: Array.from(models, ({ name, state }) => ({ name, state })) };
  });
  app.get('/metrics', async (_, reply) =>
    reply.type(CONTENT_TYPE).send(await metrics.text(models, generations.active)),
  );
  await addPage(app);
  refuseOtherMethods();

  const shutDown = async () => {
    // Stops listening at once, and resolves when the last connection has ended.
    const closed = app.close();
    await generations.drain(limits.graceSeconds);
    // Streams have had their last event by now. A client that takes no notice is cut off.
    const cut = setTimeout(() => app.server.closeAllConnections(), FLUSH_SECONDS * 1000);
    const sweep = setInterval(() => app.server.closeIdleConnections(), SWEEP_EVERY);
    await closed;
    clearTimeout(cut);
    clearInterval(sweep);
    models.close();
    metrics.stop();
    // One that was still being opened is closed as soon as it is open.
    await started;
  };
  return {
    models,
    listen: async (port) => {
      const address = await app.listen({ host, port });
      started = models.start();
      return address;
    },
    close: () => {
      closing ??= shutDown();
      return closing;
    },
  };
}

function makeApp(limits: Limits, owed: Owed): FastifyInstance {
  const requestTimeout = limits.requestSeconds * 1000;
  const app = Fastify({
    // Told here as well, Node does not give the headers a minute, and the whole request with them.
    http: { requestTimeout, connectionsCheckingInterval: LOOK_SECONDS * 1000 },
    requestTimeout,
    // No answer has a pause so long; a client that does not take its answer would keep its connection for ever.
    connectionTimeout: limits.generationSeconds * 1250,
    bodyLimit: limits.bodyBytes,
    keepAliveTimeout: 10_000,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    frameworkErrors: (error, _, reply: FastifyReply) => {
      const problem = problemOf(error);
      void reply.code(problem.status).send(problem.toJSON());
    },
    clientErrorHandler: ({ code }, socket) => answerNoRequest(code, socket, owed.isWithin(socket)),
    // Names of models are those of folders: 255 bytes, each of which takes three characters in a path.
    routerOptions: { maxParamLength: 765 },
    // A body with such a field is refused like one with any other that is not known; nothing is copied from it.
    onProtoPoisoning: 'ignore',
    onConstructorPoisoning: 'ignore',
  });
  owed.watch(app.server);
  app.server.maxConnections = limits.connections;
  // Only JSON is taken: other types could come from a form on any web page.
  app.removeContentTypeParser('text/plain');
  return app;
}

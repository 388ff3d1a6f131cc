// Owns what a client is told when it does not get what it asked for: a status, a code, a sentence.
// Refuses to tell it what is the operator's affair: paths and stacks go to standard error.

import { SafeTensorsError } from 'safetensors-mmap';
import { LlamaError } from '../llama/index.js';

/** A refusal, as a client sees it. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly status: number;
  readonly code: string;
  /** Seconds after which it may go better. */
  readonly retryAfter: number | undefined;

  constructor(status: number, code: string, message: string, details: { retryAfter?: number; cause?: unknown } = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.status = status;
    this.code = code;
    this.retryAfter = details.retryAfter;
  }

  /** As the body of an answer, or the data of an event. */
  toJSON(): { error: { code: string; message: string } } {
    return { error: { code: this.code, message: this.message } };
  }
}

/** Says no to a request that could be answered later. */
export function busy(what: string, limit: number): Problem {
  return new Problem(429, 'TOO_MANY_REQUESTS', `${limit} ${what} are under way, the most that run at once`, {
    retryAfter: 1,
  });
}

/** Says no while the server ends. */
export function shuttingDown(): Problem {
  return new Problem(503, 'SHUTTING_DOWN', 'the server is shutting down', { retryAfter: 5 });
}

/** What fastify says of a body or a path, in this server's words. */
const OF_FASTIFY: Readonly<Record<string, readonly [status: number, code: string, message: string]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: [413, 'BODY_TOO_LARGE', 'the body is too long'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [415, 'UNSUPPORTED_MEDIA_TYPE', 'the body has to be sent as application/json'],
  FST_ERR_CTP_EMPTY_JSON_BODY: [400, 'INVALID_JSON', 'the body is empty; it has to be a JSON object'],
  FST_ERR_CTP_INVALID_JSON_BODY: [400, 'INVALID_JSON', 'the body is not JSON'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [400, 'INVALID_REQUEST', 'the body is not as long as Content-Length says'],
  FST_ERR_MAX_PARAM_LENGTH: [404, 'NOT_FOUND', 'there is nothing at this path'],
  FST_ERR_BAD_URL: [400, 'INVALID_REQUEST', 'the path is not a valid URL'],
};

/** Any error as a refusal; those that nobody foresaw become INTERNAL, with the error as cause. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof LlamaError && (error.code === 'INVALID_ARGUMENT' || error.code === 'CONTEXT_FULL')) {
    return new Problem(400, error.code, error.message);
  }
  if (error instanceof SafeTensorsError) {
    return new Problem(500, error.code, 'the weights of the model could not be read', { cause: error });
  }
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown };
  const known = typeof code === 'string' ? OF_FASTIFY[code] : undefined;
  if (known !== undefined) return new Problem(...known);
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
    return new Problem(statusCode, 'INVALID_REQUEST', 'the request is not understood', { cause: error });
  }
  return new Problem(500, 'INTERNAL', 'the server made a mistake', { cause: error });
}

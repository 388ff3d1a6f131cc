// Owns the generations under way: a place for each, what ends one early, and what the client hears of it.
// Refuses to go on writing for a client that has gone.

import type { FastifyReply, FastifyRequest } from 'fastify';
import { onDeparture } from './departure.js';
import type { Generation } from './engine.js';
import { EventStream } from './event-stream.js';
import { readGenerateRequest } from './generate-request.js';
import type { Limits } from './limits.js';
import type { Models } from './models.js';
import { Problem, problemOf, shuttingDown } from './problems.js';
import { Slots } from './slots.js';

/** How a generation ended: by itself, by the client's leaving, by a limit or the shutdown, or by a failure. */
export type Outcome = 'complete' | 'disconnected' | 'cut' | 'failed';

/** Hears what happens. */
export interface GenerationWatcher {
  onToken(model: string): void;
  onEnd(model: string, outcome: Outcome): void;
  onFailure(cause: unknown): void;
}

/** A client that has gone is owed no answer; this reason ends its generation. */
class Disconnected extends Error {}

/** All generations of a server. */
export class Generations {
  readonly #models: Models;
  readonly #limits: Limits;
  readonly #watcher: GenerationWatcher;
  readonly #slots: Slots;
  readonly #running = new Set<AbortController>();
  #isDraining = false;
  #onIdle: (() => void) | undefined;

  constructor(models: Models, limits: Limits, watcher: GenerationWatcher) {
    this.#models = models;
    this.#limits = limits;
    this.#watcher = watcher;
    this.#slots = new Slots('generations', limits.generations);
  }

  /** Number of generations under way. */
  get active(): number {
    return this.#slots.taken;
  }

  /**
   * Answers POST /generate: events `token` {token, text}, then one `summary`, or one `error`. What goes wrong before the
   * first token is an ordinary answer with a status; throws it as a Problem.
   */
  async answer(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { prompt, model: name, ...options } = readGenerateRequest(request.body, this.#limits);
    const model = this.#models.require(name);
    const loaded = model.require();
    await this.#slots.run(() =>
      this.#cancellable(request, async (signal) => {
        const generation = loaded.generate(prompt, { ...options, signal });
        const outcome = await this.#stream(generation, model.name, reply, signal).finally(() => {
          // Ends it where an event could not be sent; one that has ended does not mind.
          void generation.return(undefined as never).catch(() => {});
        });
        this.#watcher.onEnd(model.name, outcome);
      }),
    );
  }

  /** Begins no more. Lets generations end by themselves for so long, then ends them; resolves when none is left. */
  async drain(graceSeconds: number): Promise<void> {
    this.#isDraining = true;
    if (this.#running.size === 0) return;
    const idle = new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
    const end = setTimeout(() => {
      for (const controller of this.#running) controller.abort(shuttingDown());
    }, graceSeconds * 1000);
    await idle;
    clearTimeout(end);
  }

  async #cancellable(request: FastifyRequest, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    // Its body, or the place for it, came after the signal to shut down.
    if (this.#isDraining) throw shuttingDown();
    const { generationSeconds } = this.#limits;
    // Not AbortSignal.any: on Node 20 a long-lived signal keeps every one that was made from it.
    const controller = new AbortController();
    const tooLong = new Problem(503, 'TOO_LONG', `the generation was ended after ${generationSeconds} seconds`);
    const timer = setTimeout(() => controller.abort(tooLong), generationSeconds * 1000);
    const stay = onDeparture(request, () => controller.abort(new Disconnected()));
    this.#running.add(controller);
    try {
      await work(controller.signal);
    } finally {
      clearTimeout(timer);
      stay();
      this.#running.delete(controller);
      if (this.#running.size === 0) this.#onIdle?.();
    }
  }

  async #stream(generation: Generation, model: string, reply: FastifyReply, signal: AbortSignal): Promise<Outcome> {
    const began = performance.now();
    let events: EventStream | undefined;
    try {
      let step = await generation.next();
      signal.throwIfAborted();
      const firstAfter = performance.now() - began;
      reply.hijack();
      events = new EventStream(reply.raw);
      while (!step.done) {
        this.#watcher.onToken(model);
        await events.send('token', step.value, signal);
        step = await generation.next();
        signal.throwIfAborted();
      }
      const milliseconds = { firstToken: Math.round(firstAfter), total: Math.round(performance.now() - began) };
      events.end('summary', { model, ...step.value, milliseconds });
      return 'complete';
    } catch (error) {
      if (error instanceof Disconnected) {
        reply.hijack();
        reply.raw.destroy();
        return 'disconnected';
      }
      const problem = problemOf(error);
      if (events === undefined) {
        // The client's own mistakes are no generations.
        if (problem.status >= 500) this.#watcher.onEnd(model, error instanceof Problem ? 'cut' : 'failed');
        throw problem;
      }
      if (problem.cause !== undefined) this.#watcher.onFailure(problem.cause);
      events.end('error', problem);
      return error instanceof Problem ? 'cut' : 'failed';
    }
  }
}

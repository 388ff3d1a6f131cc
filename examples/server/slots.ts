// Owns the number of things that may run at once. Refuses to queue: whoever finds no place after a moment is told so.

import { setTimeout as sleep } from 'node:timers/promises';
import { BUSY_MILLISECONDS } from './limits.js';
import { busy, type Problem } from './problems.js';

/** Places for one kind of work. */
export class Slots {
  readonly #limit: number;
  /** Made once: refusing has to stay cheap when there is much to refuse. */
  readonly #full: Problem;
  #taken = 0;

  /** `what` is the work's name, in the plural. */
  constructor(what: string, limit: number) {
    this.#limit = limit;
    this.#full = busy(what, limit);
  }

  get taken(): number {
    return this.#taken;
  }

  /** Runs the work in a place of its own. Rejects with a Problem, of the status 429, where all are taken. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    // A client that asks again at once, whatever it is told, would otherwise have the event loop for itself. By chance,
    // lest all of them come back in one turn.
    if (this.#taken >= this.#limit) await sleep(BUSY_MILLISECONDS * (0.5 + Math.random()));
    if (this.#taken >= this.#limit) throw this.#full;
    this.#taken += 1;
    try {
      return await work();
    } finally {
      this.#taken -= 1;
    }
  }
}

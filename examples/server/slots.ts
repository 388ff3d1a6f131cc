// Owns the number of things that may run at once. Refuses to queue: whoever finds no place is told so at once.

import { busy } from './problems.js';

/** Places for one kind of work. */
export class Slots {
  readonly #what: string;
  readonly #limit: number;
  #taken = 0;

  /** `what` is the work's name, in the plural. */
  constructor(what: string, limit: number) {
    this.#what = what;
    this.#limit = limit;
  }

  get taken(): number {
    return this.#taken;
  }

  /** Runs the work in a place of its own. Throws a Problem, with the status 429, where all are taken. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#taken >= this.#limit) throw busy(this.#what, this.#limit);
    this.#taken += 1;
    try {
      return await work();
    } finally {
      this.#taken -= 1;
    }
  }
}

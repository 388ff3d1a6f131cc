// Owns the knowledge of how much of each tensor is in memory, at most a second old.
// Refuses to hold up the event loop for it, and to ask the system twice for two clients at once.

import type { SafeTensorsModel } from 'safetensors-mmap';
import { myTurn } from '../llama/turns.js';

/** What is in memory, in bytes; null where the system does not say. */
export interface ResidencyReport {
  readonly bytes: number;
  readonly residentBytes: number | null;
  /** Of each tensor, in the order of the model's names. */
  readonly tensors: readonly (number | null)[];
}

/** Milliseconds for which a report is not made again. */
const FRESH = 500;

/** The residency of one model's weights. */
export class Residency {
  readonly #weights: SafeTensorsModel;
  #report: Promise<ResidencyReport> | undefined;
  #madeAt = Number.NEGATIVE_INFINITY;

  constructor(weights: SafeTensorsModel) {
    this.#weights = weights;
  }

  /** Rejects with CLOSED when the model is closed meanwhile. */
  report(): Promise<ResidencyReport> {
    if (this.#report === undefined || performance.now() - this.#madeAt > FRESH) {
      // One that takes longer than it stays fresh is not begun a second time.
      this.#madeAt = Number.POSITIVE_INFINITY;
      this.#report = this.#measure().finally(() => {
        this.#madeAt = performance.now();
      });
    }
    return this.#report;
  }

  /** Lets the next report be a new one. */
  forget(): void {
    if (this.#madeAt !== Number.POSITIVE_INFINITY) this.#madeAt = Number.NEGATIVE_INFINITY;
  }

  async #measure(): Promise<ResidencyReport> {
    let bytes = 0;
    let residentBytes: number | null = 0;
    const tensors: (number | null)[] = [];
    for (const name of this.#weights.keys()) {
      await myTurn();
      const tensor = this.#weights.residency(name);
      const resident = tensor.residentBytes ?? null;
      bytes += tensor.bytes;
      residentBytes = resident === null || residentBytes === null ? null : residentBytes + resident;
      tensors.push(resident);
    }
    return { bytes, residentBytes, tensors };
  }
}

// Owns the list of models that the command line named. Refuses two of one name, and to guess which one was meant.

import type { Load } from './engine.js';
import { Problem } from './problems.js';
import { ServedModel } from './served-model.js';

/** A model's name and where it lies. */
export interface ModelPlace {
  readonly name: string;
  readonly directory: string;
}

/** All models of a server. */
export class Models implements Iterable<ServedModel> {
  readonly #byName: ReadonlyMap<string, ServedModel>;

  constructor(places: readonly ModelPlace[], load: Load, report: (line: string) => void) {
    this.#byName = new Map(places.map(({ name, directory }) => [name, new ServedModel(name, directory, load, report)]));
  }

  /** Opens all, at the same time. Never rejects. */
  async start(): Promise<void> {
    await Promise.all(Array.from(this, (model) => model.start()));
  }

  /** A model by its name; the first one where none is named. Throws a Problem. */
  require(name: string | undefined): ServedModel {
    if (name === undefined) return this.#byName.values().next().value!;
    const model = this.#byName.get(name);
    if (model !== undefined) return model;
    const names = [...this.#byName.keys()].map((known) => `"${known}"`).join(', ');
    throw new Problem(
      404,
      'MODEL_NOT_FOUND',
      `there is no model ${JSON.stringify(name.slice(0, 80))}; there are ${names}`,
    );
  }

  close(): void {
    for (const model of this) model.close();
  }

  [Symbol.iterator](): Iterator<ServedModel> {
    return this.#byName.values();
  }
}

// Owns one case from its races to its results: the context that races are given, and what is shown meanwhile.
// Refuses to let one race take the others with it: what it throws is its result.
import { runRace } from './race.mjs';

/**
 * What a case is given.
 * @typedef {object} Context
 * @property {import('./workspace.mjs').Workspace} workspace where its files go; emptied afterwards
 * @property {(bytes: number) => Promise<void>} provide has so much memory provided
 * @property {import('./commands.mjs').Commands} commands
 * @property {boolean} quick
 * @property {boolean} linux
 * @property {(paths: readonly string[]) => Promise<void>} evict takes files out of memory, or throws
 * @property {(path: string) => Promise<{ faultsPerGiB?: number, resident?: number }>} faults of a pass over a file
 * @property {(contender: import('./commands.mjs').Contender) => Promise<import('./workspace.mjs').Outcome>} prepare runs
 *   a command that is no contender
 */

/**
 * @typedef {{ number: number, title: string, races: (context: Context) => AsyncIterable<import('./race.mjs').Race> }} Case
 */

/**
 * @param {import('./workspace.mjs').Workspace} workspace
 * @param {import('./commands.mjs').Commands} commands
 * @param {boolean} quick
 * @returns {Context}
 */
export function contextOf(workspace, commands, quick) {
  const run = async (/** @type {import('./commands.mjs').Contender} */ { command, skipped = '' }) =>
    command === undefined ? { ok: /** @type {const} */ (false), error: skipped } : workspace.run(command);
  const must = async (/** @type {import('./commands.mjs').Contender} */ contender) => {
    const outcome = await run(contender);
    if (!outcome.ok) throw new Error(`${contender.name}: ${outcome.error}`);
    return outcome.text;
  };
  return {
    workspace,
    commands,
    quick,
    linux: process.platform === 'linux',
    async evict(paths) {
      await must(commands.limit('not evicted', 'evict', ...paths));
    },
    async faults(path) {
      const outcome = await run(commands.limit('faults', 'faults', path));
      return outcome.ok ? JSON.parse(outcome.text) : {};
    },
    async provide(bytes) {
      await run(commands.limit('touch', 'touch', bytes));
    },
    prepare: run,
  };
}

/**
 * @param {Case} one
 * @param {Context} context
 * @param {{ rounds: number, least: number, longest: number, random: () => number, show: (race: RaceResult) => void }} options
 */
export async function runCase({ number, title, races }, context, { rounds, least, longest, random, show }) {
  /** @type {RaceResult[]} */
  const results = [];
  const start = performance.now();
  /** @type {string | undefined} */
  let failed;
  try {
    for await (const race of races(context)) {
      const result = await runRace(race, context, { rounds, least, longest, random });
      results.push(result);
      show(result);
    }
  } catch (error) {
    failed = error instanceof Error ? error.message : String(error);
  } finally {
    context.workspace.clear();
  }
  const seconds = Math.round((performance.now() - start) / 100) / 10;
  return { number, title, seconds, ...(failed === undefined ? {} : { failed }), races: results };
}

/** @typedef {Awaited<ReturnType<typeof runRace>>} RaceResult */
/** @typedef {Awaited<ReturnType<typeof runCase>>} CaseResult */

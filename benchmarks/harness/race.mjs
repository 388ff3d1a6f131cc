// Owns a race: samples of several contenders taken in turns, each in a process of its own, and the verdict on their answers.
// Refuses a contender whose checksum differs from the others', however fast it was, and carries on without it.
import { ratioOfPairs, shuffled, summarize } from './statistics.mjs';

/**
 * What a race holds the library to. `limit` is met when the ratio (or value) is at most, or at least, that.
 * @typedef {object} Goal
 * @property {string} text as docs/benchmarks.md shows it
 * @property {string} subject name of a contender
 * @property {string | string[]} [against] its ratio to this one, or to the fastest of these; absent: its own value
 * @property {boolean} [rate] the ratio of speeds instead of times
 * @property {string} [field] a field of the sample's `extra` instead of its value
 * @property {number} [atMost]
 * @property {number} [atLeast]
 * @property {boolean} [headline] the README shows it
 */

/**
 * @typedef {object} Race
 * @property {string} key unique within the case
 * @property {string} title
 * @property {'ns' | 'bytes' | 'ms' | 'ratio' | 'count'} unit
 * @property {readonly import('./commands.mjs').Contender[]} contenders
 * @property {readonly Goal[]} [goals]
 * @property {number} [bytes] what a sample goes through, for rates
 * @property {{ faultsPerGiB?: number, resident?: number }} [state] of the file: its folios, and how much of it is in memory
 * @property {number} [rounds] fewer than the method's, for `fewer`
 * @property {string} [fewer] why
 * @property {number} [share] of a run's time, where a race has many or slow contenders; 1 by default
 * @property {number} [memory] bytes that a sample takes from the system: provided before each, whatever ran before it
 * @property {boolean} [different] contenders work on different files, so their answers are not compared with one another
 * @property {(contender: string) => Promise<void>} [before] each sample; what it throws ends the contender
 * @property {(contender: string) => Promise<Record<string, number> | undefined>} [after] each sample; adds to `extra`
 */

/**
 * @typedef {object} Entry
 * @property {string} name
 * @property {'ok' | 'skipped' | 'failed'} status
 * @property {string} [reason]
 * @property {number[]} samples by round
 * @property {Record<string, number[]>} extra by round
 * @property {(number | string)[]} checksums by round
 */

/**
 * @typedef {object} Surroundings
 * @property {import('./workspace.mjs').Workspace} workspace
 * @property {(bytes: number) => Promise<void>} provide has so much memory provided
 */

const messageOf = (/** @type {unknown} */ error) => (error instanceof Error ? error.message : String(error));

/**
 * @param {Race} race
 * @param {Entry} entry
 * @param {readonly string[]} command
 * @param {Surroundings} surroundings
 */
async function sample(race, entry, command, { workspace, provide }) {
  try {
    await race.before?.(entry.name);
    if (race.memory !== undefined) await provide(race.memory);
    const outcome = await workspace.run(command);
    if (!outcome.ok) throw new Error(outcome.error);
    const { value, checksum, extra = {} } = JSON.parse(outcome.text);
    if (!Number.isFinite(value)) throw new Error(`no value in ${JSON.stringify(outcome.text.slice(0, 100))}`);
    entry.samples.push(value);
    entry.checksums.push(checksum);
    for (const [key, found] of Object.entries({ ...extra, ...(await race.after?.(entry.name)) })) {
      entry.extra[key] ??= [];
      entry.extra[key].push(found);
    }
  } catch (error) {
    entry.status = 'failed';
    entry.reason = messageOf(error);
  }
}

/**
 * Fails those whose answer is not that of most.
 * @param {readonly Entry[]} entries
 */
export function compareAnswers(entries) {
  const racing = entries.filter(({ status, checksums }) => status === 'ok' && checksums[0] !== undefined);
  const votes = new Map();
  for (const { checksums } of racing) votes.set(checksums[0], (votes.get(checksums[0]) ?? 0) + 1);
  const most = Math.max(0, ...votes.values());
  const winners = [...votes].filter(([, count]) => count === most).map(([answer]) => answer);
  for (const entry of racing) {
    const steady = entry.checksums.every((answer) => answer === entry.checksums[0]);
    if (steady && winners.length === 1 && winners[0] === entry.checksums[0]) continue;
    entry.status = 'failed';
    entry.reason = `a wrong answer: checksum ${entry.checksums[0]}, others ${winners.join(', ')}`;
  }
}

/**
 * @param {Race} race
 * @param {Surroundings} surroundings
 * @param {object} plan
 * @param {number} plan.rounds
 * @param {number} plan.least rounds that are run however late it is
 * @param {number} plan.longest seconds after which no other round begins, times the race's share
 * @param {() => number} plan.random
 */
export async function runRace(race, surroundings, { rounds: usual, least, longest, random }) {
  const planned = Math.min(race.rounds ?? usual, usual);
  /** @type {(Entry & { command: readonly string[], most: number })[]} */
  const entries = race.contenders.map(({ name, command = [], skipped, rounds: most = usual }) => {
    const none = { most, samples: [], extra: {}, checksums: [] };
    if (skipped !== undefined) return { name, command, status: 'skipped', reason: skipped, ...none };
    return { name, command, status: 'ok', ...none };
  });
  const deadline = performance.now() + longest * (race.share ?? 1) * 1000;
  let rounds = 0;
  for (; rounds < planned && (rounds < least || performance.now() < deadline); rounds++) {
    for (const entry of shuffled(entries, random)) {
      if (entry.status === 'ok' && rounds < entry.most) await sample(race, entry, entry.command, surroundings);
    }
    if (race.different) for (const entry of entries) compareAnswers([entry]);
    else compareAnswers(entries);
  }
  return {
    key: race.key,
    title: race.title,
    unit: race.unit,
    ...(race.bytes === undefined ? {} : { bytes: race.bytes }),
    ...(race.state === undefined ? {} : { state: race.state }),
    rounds,
    ...(rounds < planned ? { fewer: 'its time was up' } : {}),
    ...(planned < usual && race.fewer !== undefined ? { fewer: race.fewer } : {}),
    contenders: entries.map(({ name, status, reason, samples, extra }) => ({
      name,
      status,
      ...(reason === undefined ? {} : { reason }),
      ...(status === 'ok' ? { ...summarize(samples), samples, extra } : {}),
    })),
    goals: (race.goals ?? []).map((goal) => judge(goal, entries)),
  };
}

/**
 * @param {Goal} goal
 * @param {readonly Entry[]} entries
 */
export function judge(goal, entries) {
  const { text, subject, atMost, atLeast, field, rate = false } = goal;
  /** @type {{ atMost?: number, atLeast?: number }} */
  const limit = { ...(atMost === undefined ? {} : { atMost }), ...(atLeast === undefined ? {} : { atLeast }) };
  const open = { text, subject, ...limit, headline: goal.headline ?? false, met: /** @type {boolean | null} */ (null) };
  const found = (/** @type {string} */ name) => entries.find((entry) => entry.name === name && entry.status === 'ok');
  const ours = found(subject);
  if (ours === undefined) return { ...open, why: `${subject} was not measured` };
  const values = field === undefined ? ours.samples : (ours.extra[field] ?? []);
  if (values.length === 0) return { ...open, why: `${field} was not measured` };
  const verdict = (/** @type {import('./statistics.mjs').Summary} */ result) => {
    const { median, q1, q3 } = result;
    const met = (atMost === undefined || median <= atMost) && (atLeast === undefined || median >= atLeast);
    return { median, q1, q3, met };
  };
  if (goal.against === undefined) return { ...open, ...verdict(summarize(values)) };
  const names = typeof goal.against === 'string' ? [goal.against] : goal.against;
  const others = names.flatMap((name) => found(name) ?? []);
  if (others.length === 0) return { ...open, why: `${names.join(' and ')} not measured` };
  const best = others.reduce((a, b) => (summarize(a.samples).median <= summarize(b.samples).median ? a : b));
  const ratio = rate ? ratioOfPairs(best.samples, values) : ratioOfPairs(values, best.samples);
  return { ...open, against: best.name, ...verdict(ratio) };
}

// Owns the tables that README.md and docs/benchmarks.md show of a result, and the markers between which they stand. Pure.
// Refuses figures that no result holds.
import { found, limitOf, quantity, rate, short, verdict } from './words.mjs';

/**
 * A file of results, as run.mjs writes it.
 * @typedef {object} Result
 * @property {string} date ISO 8601
 * @property {'full' | 'quick'} mode
 * @property {number} seed
 * @property {number} rounds
 * @property {number} seconds
 * @property {Record<string, string | number | undefined>} machine
 * @property {Record<string, string | undefined>} versions
 * @property {import('../harness/run-case.mjs').CaseResult[]} cases
 */

/**
 * The result that is published: the newest of all full runs, or of the quick ones where there is no other.
 * @param {readonly Result[]} results
 * @returns {Result | undefined}
 */
export function newest(results) {
  const full = results.filter(({ mode }) => mode === 'full');
  return (full.length > 0 ? full : results).toSorted((a, b) => a.date.localeCompare(b.date)).at(-1);
}

/**
 * When and where, in a sentence or two.
 * @param {Result} result
 */
export function origin({ date, mode, rounds, machine, versions }) {
  const where = `${machine.cpu} with ${machine.processors} processors and ${machine.memoryGiB} GiB, ${machine.kernel}, ${machine.fileSystem}`;
  const times = rounds === 1 ? '1 round' : `${rounds} rounds`;
  const how = mode === 'full' ? times : `a **quick run** of at most ${times} on small files: no more than a hint`;
  return `Measured on ${date.slice(0, 10)} (${where}; Node ${versions.node}), ${how}, load ${machine.loadAtStart} at the start.`;
}

/**
 * @param {readonly string[]} head
 * @param {readonly (readonly string[])[]} rows
 */
function table(head, rows) {
  const line = (/** @type {readonly string[]} */ cells) => `| ${cells.join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}

/**
 * The goals that the README shows.
 * @param {Result} result
 */
export function readmeFigures(result) {
  const goals = result.cases
    .flatMap(({ races }) => races.flatMap((race) => race.goals))
    .filter(({ headline }) => headline);
  const rows = goals.map((goal) => [goal.text, found(goal), limitOf(goal), verdict(goal)]);
  return `${origin(result)}\n\n${table(['', 'median (quartiles)', 'goal', ''], rows)}`;
}

/**
 * Every goal with what was found.
 * @param {Result} result
 */
export function goalsTable({ cases }) {
  const rows = cases.flatMap(({ number, races }) =>
    races.flatMap((race) =>
      race.goals.map((goal) => [String(number), goal.text, found(goal), limitOf(goal), verdict(goal)]),
    ),
  );
  return table(['case', '', 'median (quartiles)', 'goal', ''], rows);
}

/**
 * Every race, with every contender.
 * @param {Result} result
 */
export function raceTables({ cases }) {
  return cases.map(({ number, title, races, failed }) => {
    const parts = races.map((race) => {
      const state =
        race.state?.faultsPerGiB === undefined ? '' : `; ${short(race.state.faultsPerGiB)} faults/GiB when touched`;
      const fewer = race.fewer === undefined ? '' : `: ${race.fewer}`;
      return `**${race.title}** (${race.rounds === 1 ? '1 round' : `${race.rounds} rounds`}${fewer}${state})\n\n${contendersTable(race)}`;
    });
    const end = failed === undefined ? [] : [`The case ended early: ${failed}`];
    return [`### ${number}. ${title}`, ...parts, ...end].join('\n\n');
  });
}

/** @param {import('./words.mjs').RaceResult} race */
function contendersTable(race) {
  const rows = race.contenders.map((contender) => {
    const { name, status, reason = '', median, min, q1, q3 } = contender;
    if (median === undefined || min === undefined || q1 === undefined || q3 === undefined) {
      return [name, `${status}: ${reason.replaceAll('|', '\\|')}`, '', '', ''];
    }
    const [middle, least, low, high] = [median, min, q1, q3].map((value) => quantity(value, race.unit));
    return [name, `${middle}`, `${least}`, `${low} to ${high}`, rate(race, contender)];
  });
  return table(['', 'median', 'min', 'quartiles', ''], rows);
}

/**
 * What stands between the markers of a name is replaced.
 * @param {string} text
 * @param {string} name
 * @param {string} body
 */
export function between(text, name, body) {
  const [open, close] = [`<!-- bench: ${name} -->`, `<!-- end of ${name} -->`];
  const [begin, end] = [text.indexOf(open), text.indexOf(close)];
  if (begin < 0 || end < begin) throw new Error(`the markers of ${JSON.stringify(name)} are missing`);
  return `${text.slice(0, begin + open.length)}\n\n${body}\n\n${text.slice(end)}`;
}

/**
 * README.md and docs/benchmarks.md with the figures of a result.
 * @param {{ readme: string, page: string }} texts
 * @param {Result} result
 */
export function withFigures({ readme, page }, result) {
  const machine = Object.entries({ ...result.machine, seed: result.seed, seconds: result.seconds, ...result.versions });
  const facts = table(
    ['', ''],
    machine.flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  );
  const sections = {
    origin: origin(result),
    goals: goalsTable(result),
    races: raceTables(result).join('\n\n'),
    machine: facts,
  };
  const filled = Object.entries(sections).reduce((text, [name, body]) => between(text, name, body), page);
  return { readme: between(readme, 'figures', readmeFigures(result)), page: filled };
}

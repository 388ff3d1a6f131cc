// Owns `npm run bench`: its options, the order of the cases, and the file of results.
// Refuses to judge the machine. A goal that is missed is printed and recorded; only a broken run exits with 1.
//
//   npm run bench [-- [--quick] [--case N]… [--rounds N] [--patient] [--seed N] [--directory D] [--out FILE] [--publish]]
//
// --patient runs all rounds of every race, however long they take. The tree must be built (npm install does it). Test
// files go to the system's temporary directory or to D and are removed at the end; a full run needs 14 GiB there.
// SAFETENSORS_PYTHON names a Python with safetensors, numpy and torch.
import { existsSync, readdirSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { Commands } from './harness/commands.mjs';
import { describeMachine, hostKind } from './harness/machine.mjs';
import { contextOf, runCase } from './harness/run-case.mjs';
import { randomFrom } from './harness/statistics.mjs';
import { findTools, own } from './harness/tools.mjs';
import { Workspace } from './harness/workspace.mjs';
import { publish } from './publish.mjs';
import { showRace } from './report/console.mjs';

/**
 * Rounds of each race, those that are run in any case, seconds after which a race begins no other, seconds of rounds within
 * a sample, GiB of disk.
 */
const MODES = {
  quick: { rounds: 3, least: 1, longest: 0.6, within: 0.2, disk: 3 },
  full: { rounds: 11, least: 3, longest: 5, within: 0.4, disk: 14 },
};

const USAGE =
  'npm run bench [-- [--quick] [--case N]… [--rounds N] [--patient] [--seed N] [--directory D] [--out FILE] [--publish]]';

/** The options. */
function given() {
  return parseArgs({
    options: {
      help: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      case: { type: 'string', multiple: true, default: [] },
      rounds: { type: 'string' },
      seed: { type: 'string', default: String(Math.floor(Date.now() / 1000)) },
      directory: { type: 'string', default: tmpdir() },
      out: { type: 'string' },
      patient: { type: 'boolean', default: false },
      publish: { type: 'boolean', default: false },
    },
  }).values;
}

/** The same; on --help and on others than these the process ends here. */
function optionsGiven() {
  try {
    const values = given();
    if (!values.help) return values;
    console.log(USAGE);
    process.exit(0);
  } catch (error) {
    console.error(`${/** @type {Error} */ (error).message}\n${USAGE}`);
    process.exit(2);
  }
}

const values = optionsGiven();

/** @param {string} message */
function usage(message) {
  console.error(message);
  process.exit(2);
}

const files = readdirSync(own('cases'))
  .filter((name) => name.endsWith('.mjs'))
  .sort();
/** @type {import('./harness/run-case.mjs').Case[]} */
const cases = await Promise.all(files.map((name) => import(`./cases/${name}`)));
const unknown = values.case.filter((wanted) => !cases.some(({ number }) => String(number) === wanted));
if (unknown.length > 0) usage(`no case ${unknown.join(', ')}; there are 1 to ${cases.length}`);
if (!/^\d+$/.test(values.seed)) usage(`the seed must be a whole number, not ${JSON.stringify(values.seed)}`);
if (!/^[1-9]\d*$/.test(values.rounds ?? '1')) usage(`--rounds must be a whole number above 0`);
if (!existsSync(own('../dist/index.js'))) usage('dist/ is missing: npm run build');
const { quick } = values;
const whole = values.case.length === 0;
if (values.publish && !whole) usage('--publish is for a run of all cases');
const free = statfsSync(values.directory);
const freeGiB = (free.bavail * free.bsize) / 2 ** 30;
const mode = quick ? 'quick' : 'full';
const { least, disk: needed } = MODES[mode];
const longest = values.patient ? Number.POSITIVE_INFINITY : MODES[mode].longest;
if (freeGiB < needed) usage(`the test files need ${needed} GiB; ${freeGiB.toFixed(1)} GiB are free; see --directory`);

const started = performance.now();
const date = new Date().toISOString();
const seed = Number(values.seed);
const random = randomFrom(seed);
const tooling = new Workspace(tmpdir());
const workspace = new Workspace(values.directory);
const tools = await findTools(tooling, tooling.folder);
const described = describeMachine(values.directory, tools);
console.log(JSON.stringify(described, null, 2));
if (!tools.limits.ok) console.log(`no physical limits and nothing cold: ${tools.limits.reason}`);
if (!tools.python.ok) console.log(tools.python.reason);

const context = contextOf(workspace, new Commands(tools, MODES[mode].within), quick);
const rounds = Number(values.rounds ?? MODES[mode].rounds);
const results = [];
for (const one of cases) {
  if (!whole && !values.case.includes(String(one.number))) continue;
  console.log(`\n# ${one.number}. ${one.title}`);
  const result = await runCase(one, context, { rounds, least, longest, random, show: showRace });
  if (result.failed !== undefined) {
    console.error(`  the case failed: ${result.failed}`);
    process.exitCode = 1;
  }
  console.log(`  ${result.seconds} s`);
  results.push(result);
}

const seconds = Math.round((performance.now() - started) / 1000);
const result = { schema: 1, date, mode, seed, rounds, seconds, ...described, cases: results };
const goals = results.flatMap(({ races }) => races.flatMap((race) => race.goals));
const count = (/** @type {boolean | null} */ met) => goals.filter((goal) => goal.met === met).length;
console.log(
  `\n${count(true)} goals met, ${count(false)} not met, ${count(null)} not measured; ${seconds} s; seed ${seed}`,
);

const name = `results/${date.slice(0, 10)}-${hostKind()}${quick ? '-quick' : ''}.json`;
const out = values.out ?? (whole ? own(name) : undefined);
if (out !== undefined) {
  writeFileSync(out, `${JSON.stringify(result, null, 1)}\n`);
  console.log(path.basename(out));
}
if (values.publish && out !== undefined) publish(out);

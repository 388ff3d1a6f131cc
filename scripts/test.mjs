// Owns `npm test`: everything that has to hold before a commit, in an order that keeps two cores busy.
// Refuses to stop at the first failure, and to pass over a missing tool in silence.
import { spawn } from 'node:child_process';
import path from 'node:path';
import { ROOT, toolPath } from './native.mjs';
import { sanitize, unavailable } from './sanitize.mjs';
import { runVitest } from './vitest.mjs';

const started = performance.now();
const { CI } = process.env;
const total = { passed: 0, failed: 0 };
/** @type {string[]} */
const broken = [];
/** @type {string[]} */
const failures = [];

/** @param {number} since */
function seconds(since) {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}

/**
 * Runs a script of this project or of a dependency with this Node; its output is shown when it ends.
 * @param {string} name
 * @param {string} script absolute
 * @param {...string} args
 * @returns {Promise<void>}
 */
async function step(name, script, ...args) {
  const begin = performance.now();
  const child = spawn(process.execPath, [script, ...args], { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
  /** @type {Buffer[]} */
  const output = [];
  child.stdout.on('data', (chunk) => output.push(chunk));
  child.stderr.on('data', (chunk) => output.push(chunk));
  const status = await new Promise((resolve) => {
    child.on('close', resolve);
    child.on('error', resolve);
  });
  console.log(`\n# ${name}: ${status === 0 ? 'ok' : 'FAILED'} (${seconds(begin)})`);
  process.stdout.write(Buffer.concat(output));
  if (status !== 0) broken.push(name);
}

/**
 * Runs tests in the foreground and adds them up.
 * @param {string} name
 * @param {() => import('./vitest.mjs').Counts} run
 */
function tests(name, run) {
  console.log(`\n# ${name}`);
  try {
    const counts = run();
    total.passed += counts.passed;
    total.failed += counts.failed;
    failures.push(...counts.failures);
    if (counts.failed > 0) broken.push(name);
  } catch (error) {
    console.error(error);
    total.failed += 1;
    broken.push(name);
  }
}

/** @param {string} file */
const own = (file) => path.join(ROOT, 'scripts', file);

/** The linters, one after the other: each is short. */
async function lint() {
  await step('lint: biome', toolPath('@biomejs/biome/bin/biome'), 'ci', '--colors=off', '.');
  await step('lint: clang-format', own('lint-native.mjs'));
  await step('lint: knip', toolPath('knip/bin/knip.js'));
}

/** What the tests run on. The addon comes last: it takes all cores. */
async function build() {
  await step('build', own('build.mjs'));
  await step('build: native, warnings are errors', own('build-native.mjs'), '--werror');
}

/** The page of an example runs in a browser, under other declarations than the rest. */
async function typecheck() {
  await step('typecheck', toolPath('typescript/bin/tsc'), '-p', 'test');
  await step('typecheck: the page', toolPath('typescript/bin/tsc'), '-p', 'examples/server/page');
}

await Promise.all([build(), typecheck().then(lint)]);
tests('tests', () => runVitest('unit', ['--project', 'unit*']));
tests('tests of the package', () => runVitest('package', ['--project', 'package']));
await step('package', own('check-package.mjs'));

const reason = unavailable();
if (reason === undefined) {
  tests('tests under AddressSanitizer and UBSan', sanitize);
} else {
  console.log(`\n# tests under AddressSanitizer and UBSan: skipped, ${reason}`);
  if (CI) broken.push('sanitizers (mandatory in CI)');
}

// Last, because a record of a run may keep no more than its end.
if (broken.length > 0) console.log(`\nFAILED: ${broken.join('; ')}`);
for (const failure of failures) console.log(`- ${failure}`);
console.log(`\nin ${seconds(started)}`);
// A linter or a build that failed counts as one failed test, so that this line cannot look green without reason.
console.log(`${total.passed} passed, ${Math.max(total.failed, broken.length)} failed`);
process.exitCode = broken.length > 0 ? 1 : 0;

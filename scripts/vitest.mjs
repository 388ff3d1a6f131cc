// Owns running vitest in a child and reading how many tests passed.
// Refuses a run without tests: zero of zero is a failure.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { ROOT, toolPath } from './native.mjs';

/**
 * @typedef {object} Counts
 * @property {number} passed
 * @property {number} failed at least 1 when the run as a whole failed
 * @property {string[]} failures one a failed test or file: where it stands, its name and the first lines of why
 */

/**
 * Runs vitest and shows its output as it comes.
 * @param {string} name of the run; its report goes to .cache/<name>.json
 * @param {string[]} filters projects and files, as on vitest's command line
 * @param {{ node?: string, env?: NodeJS.ProcessEnv }} [options] the runtime to test on and its environment
 * @returns {Counts}
 */
export function runVitest(name, filters, { node = process.execPath, env = process.env } = {}) {
  const report = path.join(ROOT, '.cache', `${name}.json`);
  mkdirSync(path.dirname(report), { recursive: true });
  rmSync(report, { force: true });
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const { status, signal } = spawnSync(node, [toolPath('vitest/vitest.mjs'), 'run', ...reporters, ...filters], {
    cwd: ROOT,
    env,
    stdio: 'inherit',
  });
  const counts = readReport(report);
  if (status !== 0 || counts.passed === 0) counts.failed = Math.max(counts.failed, 1);
  if (signal !== null) console.error(`vitest was ended by ${signal}`);
  return counts;
}

/**
 * @param {string} file
 * @returns {Counts} zeros when vitest ended before it wrote the report
 */
function readReport(file) {
  let report;
  try {
    report = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return { passed: 0, failed: 0, failures: [`${file}: vitest wrote no report`] };
  }
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests,
    failures: report.testResults.flatMap(failuresOf),
  };
}

/**
 * @param {{ name: string, status: string, message?: string,
 *   assertionResults: { status: string, fullName: string, failureMessages?: string[] }[] }} result of a file
 * @returns {string[]}
 */
function failuresOf({ name, status, message, assertionResults }) {
  const where = path.relative(ROOT, name);
  const failures = assertionResults
    .filter((test) => test.status === 'failed')
    .map((test) => `${where}: ${test.fullName}: ${firstLines(test.failureMessages?.[0])}`);
  // A file that fails as a whole, in an import or a hook, may have no test that failed.
  return failures.length === 0 && status === 'failed' ? [`${where}: ${firstLines(message)}`] : failures;
}

/** @param {string | undefined} text of an error: a property names its seed on the second line */
function firstLines(text) {
  return text?.slice(0, 400).split('\n').slice(0, 3).join(' ') ?? '';
}

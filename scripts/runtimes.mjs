// Owns the run of the unit tests on other versions of Node, which npm delivers as packages.
// Refuses to compile per version: one addon has to serve them all.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { PLATFORM, ROOT } from './native.mjs';
import { runVitest } from './vitest.mjs';

const VERSIONS = ['22.23.5', '24.22.3', '26.12.1'];
const PACKAGE = `node-${PLATFORM.replace('win32', 'win')}`;

/**
 * Path of a Node executable, installed under .runtimes/ the first time.
 * @param {string} version
 * @returns {string}
 */
function runtime(version) {
  const home = path.join(ROOT, '.runtimes', version);
  const binary = path.join(home, 'node_modules', PACKAGE, process.platform === 'win32' ? 'bin/node.exe' : 'bin/node');
  if (existsSync(binary)) return binary;
  mkdirSync(home, { recursive: true });
  // With a package.json of its own npm does not take the checkout for the project.
  writeFileSync(path.join(home, 'package.json'), '{ "private": true }\n');
  const install = ['install', '--no-save', '--no-package-lock', '--ignore-scripts', `${PACKAGE}@${version}`];
  const { status } = spawnSync('npm', install, { cwd: home, stdio: 'inherit', shell: process.platform === 'win32' });
  if (status !== 0 || !existsSync(binary)) throw new Error(`npm did not deliver ${PACKAGE}@${version}`);
  return binary;
}

const chosen = process.argv.slice(2);
const rows = [];
for (const version of VERSIONS.filter((v) => chosen.length === 0 || chosen.includes(v.split('.')[0] ?? ''))) {
  const started = performance.now();
  const counts = runVitest(`node-${version}`, ['--project', 'unit*'], { node: runtime(version) });
  rows.push({ node: version, ...counts, seconds: Math.round((performance.now() - started) / 1000) });
}
console.table(rows);
process.exitCode = rows.length > 0 && rows.every((row) => row.failed === 0) ? 0 : 1;

// Owns the outside view of the package: packs it once and lets publint and attw judge the tarball.
// Refuses to look into the checkout; only what is published counts.
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { ROOT, toolPath } from './native.mjs';

const directory = path.join(ROOT, '.cache/pack');

/**
 * @param {string} command
 * @param {string[]} args
 */
function run(command, args) {
  const shell = process.platform === 'win32' && command === 'npm';
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: ROOT, encoding: 'utf8', shell });
  if (status === 0) return stdout;
  console.error(`${stdout}${stderr}`);
  throw new Error(`${[command, ...args].join(' ')} ended with ${status}`);
}

rmSync(directory, { recursive: true, force: true });
mkdirSync(directory, { recursive: true });
const packed = run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', directory]);
const [{ filename }] = JSON.parse(packed);
const tarball = path.join(directory, filename);
run(process.execPath, [toolPath('publint/src/cli.js'), '--strict', tarball]);
// CommonJS reaches the package by require(esm), which every supported Node has.
run(process.execPath, [toolPath('@arethetypeswrong/cli/dist/index.js'), '--profile', 'esm-only', tarball]);
console.log(`${filename}: publint and attw have nothing to say`);

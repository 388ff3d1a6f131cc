// Owns what "the native sources" are: their list, their hash, and the tools that compile them.
// Refuses to build anything; build-native, prebuild and sanitize do that.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** The checkout, absolute. */
export const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** The directory of prebuilds that serves this machine, as node-gyp-build names it. */
export const PLATFORM = `${process.platform}-${process.arch}`;

/**
 * Every C++ file under native/, relative to the root and sorted.
 * @returns {string[]}
 */
export function nativeFiles() {
  return readdirSync(path.join(ROOT, 'native'), { recursive: true, encoding: 'utf8' })
    .filter((file) => /^[^/\\]+\.(cc|h)$/.test(file))
    .map((file) => `native/${file.replaceAll('\\', '/')}`)
    .sort();
}

/**
 * What an addon is compiled from: the gyp files and the C++ files that are not programs of their own (`*_test.cc`).
 * @returns {string[]}
 */
export function nativeSources() {
  return [
    'binding.gyp',
    'native/addon.gypi',
    'native/binding.gyp',
    ...nativeFiles().filter((file) => !file.endsWith('_test.cc')),
  ].sort();
}

/**
 * SHA-256 over names and contents of the native sources; what a build is compared by.
 * @returns {string} hexadecimal
 */
export function nativeHash() {
  const hash = createHash('sha256');
  for (const file of nativeSources()) {
    const bytes = readFileSync(path.join(ROOT, file));
    // The length keeps two files from being taken for one with the other's bytes.
    hash.update(`${file}\0${bytes.length}\0`).update(bytes);
  }
  return hash.digest('hex');
}

/**
 * Whether a command exists and answers.
 * @param {string} command
 * @returns {boolean}
 */
function answers(command) {
  return spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0;
}

/** The C++ compiler that make will call, or undefined. */
export function compiler() {
  // CXX may hold a launcher and flags ("ccache g++ -m64"): its first word has to answer.
  const { CXX = '' } = process.env;
  const chosen = CXX.trim().split(/\s+/)[0];
  return [chosen, 'c++', 'g++', 'clang++'].find((name) => name && answers(name));
}

/**
 * The tools missing for a native build, in words; empty when it can be tried. On Windows
 * node-gyp finds Visual Studio by itself, so there it is always tried.
 * @returns {string[]}
 */
export function missingTools() {
  if (process.platform === 'win32') return [];
  const missing = [];
  if (compiler() === undefined) missing.push('a C++ compiler');
  if (!answers('make')) missing.push('make');
  const { PYTHON = 'python3' } = process.env;
  if (!answers(PYTHON)) missing.push('python3');
  return missing;
}

/**
 * Environment for node-gyp. A Node that was unpacked or packaged whole has its headers beside it;
 * with them a build downloads nothing.
 * @returns {NodeJS.ProcessEnv}
 */
export function gypEnvironment() {
  const prefix = path.dirname(path.dirname(process.execPath));
  const { npm_config_nodedir } = process.env;
  if (npm_config_nodedir || !existsSync(path.join(prefix, 'include/node/common.gypi'))) return process.env;
  return { ...process.env, npm_config_nodedir: prefix };
}

/**
 * Path of a development dependency's script, to be run with this very Node.
 * @param {string} script relative to node_modules
 * @returns {string}
 */
export function toolPath(script) {
  return path.join(ROOT, 'node_modules', script);
}

/**
 * Path of the prebuild that serves this machine, or undefined.
 * @returns {string | undefined}
 */
export function prebuildPath() {
  const directory = path.join(ROOT, 'prebuilds', PLATFORM);
  if (!existsSync(directory)) return undefined;
  const file = readdirSync(directory).find((name) => name.endsWith('.node'));
  return file === undefined ? undefined : path.join(directory, file);
}

// Owns the local build of the addon: node-gyp, its result in build/Release, only when the sources changed.
// Refuses to decide whether a failure matters; the caller knows. --werror makes warnings errors.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { gypEnvironment, missingTools, nativeHash, PLATFORM, prebuildPath, ROOT, toolPath } from './native.mjs';

const ADDON = path.join(ROOT, 'build/Release/safetensors_mmap.node');
const STAMP = path.join(ROOT, 'build/Release/built-from.json');

/**
 * @typedef {object} NativeBuild
 * @property {'built' | 'current' | 'no tools' | 'failed'} status
 * @property {string} message one line
 * @property {string} output of the compiler when it failed, else empty
 */

/**
 * Whether build/Release holds an addon of these very sources, compiled as strictly as is asked for now.
 * @param {string} hash
 * @param {boolean} werror
 */
function isCurrent(hash, werror) {
  if (!existsSync(ADDON) || !existsSync(STAMP)) return false;
  const stamp = JSON.parse(readFileSync(STAMP, 'utf8'));
  return stamp.hash === hash && stamp.platform === PLATFORM && (stamp.werror || !werror);
}

/**
 * Builds the addon unless it is current. Does not throw and prints nothing.
 * @param {{ werror?: boolean }} [options]
 * @returns {NativeBuild}
 */
export function buildNative({ werror = false } = {}) {
  const hash = nativeHash();
  if (isCurrent(hash, werror)) return { status: 'current', message: 'build/Release is up to date', output: '' };
  const missing = missingTools();
  if (missing.length > 0) return { status: 'no tools', message: `not found: ${missing.join(', ')}`, output: '' };

  // What an interrupted or failed build leaves behind must not be loaded.
  rmSync(path.join(ROOT, 'build'), { recursive: true, force: true });
  const started = performance.now();
  const result = spawnSync(
    process.execPath,
    [toolPath('node-gyp/bin/node-gyp.js'), 'rebuild', '-j', 'max', `--werror=${werror}`],
    { cwd: ROOT, env: gypEnvironment(), encoding: 'utf8' },
  );
  const output = `${result.stdout ?? ''}${result.stderr ?? ''}${result.error?.message ?? ''}`;
  if (result.status !== 0 || !existsSync(ADDON)) {
    return { status: 'failed', message: `node-gyp ended with ${result.status ?? result.signal}`, output };
  }
  writeFileSync(STAMP, `${JSON.stringify({ hash, platform: PLATFORM, werror })}\n`);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  return { status: 'built', message: `compiled into build/Release in ${seconds} s`, output: '' };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { CI } = process.env;
  const build = buildNative({ werror: process.argv.includes('--werror') });
  process.stderr.write(build.output);
  console.log(`native addon: ${build.status}: ${build.message}`);
  const bearable = build.status === 'no tools' && prebuildPath() !== undefined && !CI;
  if (build.status === 'failed' || (build.status === 'no tools' && !bearable)) process.exitCode = 1;
}

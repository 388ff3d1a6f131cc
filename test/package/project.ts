// Owns a project outside the checkout that has the packed tarball installed, as its users have.
// Refuses links into the checkout: what is not in the tarball is not there.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ROOT } from '../../scripts/native.mjs';

/** Output of a command on stdout; throws with its stderr when it fails. */
export function run(command: string, args: readonly string[], cwd: string): string {
  return execFileSync(command, args, { cwd, encoding: 'utf8', env: environment(), stdio: ['ignore', 'pipe', 'pipe'] });
}

/** npm's own settings without those of the npm that runs the tests, which name the checkout as the project. */
function environment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(npm_package_|npm_lifecycle_|npm_config_local_prefix$|SAFETENSORS_|CI$)/.test(name),
    ),
  );
}

/** Packs the checkout as it stands, without running its scripts. The tarball's path. */
export function pack(destination: string): string {
  const packed = run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', destination], ROOT);
  return path.join(destination, JSON.parse(packed)[0].filename);
}

/** A temporary directory and its removal. */
export function temporary(): { directory: string; remove: () => void } {
  const directory = mkdtempSync(path.join(tmpdir(), 'safetensors-mmap-'));
  return { directory, remove: () => rmSync(directory, { recursive: true, force: true }) };
}

/** An empty project with the tarball installed and the consumers of test/package/consumer in it. */
export function install(directory: string, tarball: string, options: readonly string[]): void {
  cpSync(path.join(ROOT, 'test/package/consumer'), directory, { recursive: true });
  writeFileSync(path.join(directory, 'package.json'), '{ "private": true }\n');
  run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', ...options, tarball], directory);
}

/** Every file of the installed package, relative to it, sorted. */
export function installedFiles(directory: string): string[] {
  return readdirSync(path.join(directory, 'node_modules/safetensors-mmap'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .map((file) => path.relative(path.join(directory, 'node_modules/safetensors-mmap'), file).replaceAll('\\', '/'))
    .sort();
}

/** Writes a safetensors file with one F32 tensor `weight` of shape [2, 2]: 1, 2, 3, 4. Its path. */
export function writeSample(directory: string): string {
  const header = JSON.stringify({ weight: { dtype: 'F32', shape: [2, 2], data_offsets: [0, 16] } });
  const padded = Buffer.from(header.padEnd(Math.ceil(header.length / 8) * 8));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(padded.length));
  const data = Buffer.from(new Float32Array([1, 2, 3, 4]).buffer);
  const file = path.join(directory, 'sample.safetensors');
  writeFileSync(file, Buffer.concat([length, padded, data]));
  return file;
}

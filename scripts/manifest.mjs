// Owns prebuilds/manifest.json: what each prebuilt addon was made from and which system it needs.
// Refuses to build or change an addon; it only reads one.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from './native.mjs';

/** Path of the manifest. */
export const MANIFEST = path.join(ROOT, 'prebuilds/manifest.json');

/**
 * Newest symbol version that an addon for Linux may ask for, by family: what RHEL 8, Debian 10 and Node 20's own
 * binaries have. CXXABI is left out, GLIBCXX_3.4.21 comes with the ABI of the same compiler.
 * @type {Readonly<Record<string, string>>}
 */
export const LIMITS = Object.freeze({ GLIBC: '2.28', GLIBCXX: '3.4.21' });

/**
 * @typedef {object} PrebuiltAddon
 * @property {string} file name below prebuilds/
 * @property {number} byteLength
 * @property {string} sha256 of the file, hexadecimal
 * @property {Record<string, string>} symbols newest version of each family of versioned symbols, empty off Linux
 */

/**
 * @typedef {object} Manifest
 * @property {string} sources hash of the native sources that all the addons were made from
 * @property {Record<string, PrebuiltAddon>} addons by `<platform>-<arch>`
 */

/** @returns {Manifest} */
export function readManifest() {
  return JSON.parse(readFileSync(MANIFEST, 'utf8'));
}

/**
 * The newest of some dotted versions.
 * @param {string[]} versions
 * @returns {string | undefined}
 */
export function newestSymbol(versions) {
  const collator = new Intl.Collator('en', { numeric: true });
  return [...versions].sort(collator.compare).at(-1);
}

/**
 * Newest symbol versions that an ELF file asks for, by objdump; every family that it names is in the result.
 * @param {string} file
 * @returns {Record<string, string>}
 */
export function symbolVersions(file) {
  const { status, stdout, error } = spawnSync('objdump', ['-T', file], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`objdump -T ${file} ended with ${status}`, { cause: error });
  /** @type {Record<string, string[]>} */
  const families = {};
  for (const [, family, version] of stdout.matchAll(/\(([A-Z]+)_([0-9.]+)\)/g)) {
    if (family === undefined || version === undefined) continue;
    families[family] ??= [];
    families[family].push(version);
  }
  return Object.fromEntries(
    Object.entries(families)
      .sort()
      .map(([family, versions]) => [family, newestSymbol(versions) ?? '']),
  );
}

/**
 * The manifest's entry for an addon.
 * @param {string} file absolute
 * @returns {PrebuiltAddon}
 */
export function describeAddon(file) {
  const bytes = readFileSync(file);
  return {
    file: path.relative(path.dirname(MANIFEST), file).replaceAll('\\', '/'),
    byteLength: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    symbols: process.platform === 'linux' ? symbolVersions(file) : {},
  };
}

// Owns what is derived from a file of results: the figures in README.md and docs/benchmarks.md, and the two charts.
// Refuses to measure. `node benchmarks/publish.mjs [FILE]`; without a file, the newest full run of results/.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { draw } from './report/chart.mjs';
import { newest, withFigures } from './report/tables.mjs';

/** @typedef {import('./report/tables.mjs').Result} Result */

/**
 * A path of this checkout.
 * @param {string} name relative to the root
 */
export const at = (name) => fileURLToPath(new URL(`../${name}`, import.meta.url));

/** @param {string} path */
const resultOf = (path) => /** @type {Result} */ (JSON.parse(readFileSync(path, 'utf8')));

/** Every result in results/. */
export function results() {
  const names = readdirSync(at('benchmarks/results')).filter((name) => name.endsWith('.json'));
  return names.map((name) => resultOf(at(`benchmarks/results/${name}`)));
}

/**
 * The result of a file, or the one that is published. Throws when there is none.
 * @param {string} [file]
 */
export function chosen(file) {
  const result = file === undefined ? newest(results()) : resultOf(file);
  if (result === undefined) throw new Error('there is no file of results: npm run bench');
  return result;
}

/**
 * The charts of a result, by name relative to the root.
 * @param {Result} result
 * @returns {Record<string, string>}
 */
export function chartsOf(result) {
  return { 'docs/benchmarks-light.svg': draw(result, 'light'), 'docs/benchmarks-dark.svg': draw(result, 'dark') };
}

/**
 * The files that a result makes, by name relative to the root.
 * @param {Result} result
 * @returns {Record<string, string>}
 */
export function derived(result) {
  const read = (/** @type {string} */ name) => readFileSync(at(name), 'utf8');
  const { readme, page } = withFigures({ readme: read('README.md'), page: read('docs/benchmarks.md') }, result);
  return { 'README.md': readme, 'docs/benchmarks.md': page, ...chartsOf(result) };
}

/** @param {string} [file] */
export function publish(file) {
  for (const [name, text] of Object.entries(derived(chosen(file)))) writeFileSync(at(name), text);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) publish(process.argv[2]);

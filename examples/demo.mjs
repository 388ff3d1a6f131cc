// Owns the demo's order of steps: open, list, prove the mapping, compute; also its exit codes.
// Refuses the library's inner parts: everything here goes through the public names.
//
//   npm run demo                   the small model in examples/models
//   npm run demo -- PATH           your own .safetensors file, *.index.json or directory
//
// Exit codes: 0 fine, 1 the file breaks the format, 2 wrong arguments, 3 the file cannot be read.

import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openModel, SafeTensorsError } from 'safetensors-mmap';
import { watchMapping } from './demo/mapping.mjs';
import { numberLanguage, PHRASES } from './demo/number-language.mjs';
import { chooseTensor, floatsOf, statistics } from './demo/statistics.mjs';
import { heading, listing, printable } from './demo/text.mjs';

const OWN_MODEL = fileURLToPath(new URL('models/number_language.safetensors', import.meta.url));

/** Rows of the listing; `npx safetensors ls` shows all. */
const MOST_ROWS = 24;

/** @param {string} [text] */
function say(text = '') {
  process.stdout.write(`${text}\n`);
}

/** @param {string} path */
async function demo(path) {
  const model = await openModel(path); // headers are read and checked; nothing is mapped yet
  try {
    const files = model.shards.length === 1 ? '' : `${model.shards.length} shards, `;
    say(heading(printable(path === OWN_MODEL ? relative(process.cwd(), path) : path)));
    say(`${files}${model.size} tensors, ${model.byteLength.toLocaleString('en')} bytes\n`);
    for (const line of listing(model, MOST_ROWS)) say(line);

    const name = chooseTensor(model);
    if (name === undefined) {
      say('\nNo tensor of it has data, so there is nothing to map.');
      return;
    }
    compute(model, name);
    if (path === OWN_MODEL) classify(model);
  } finally {
    model.close(); // every array over the file has length 0 from here on
  }
}

/**
 * Computes over one tensor and watches what of the file is in memory on the way.
 * @param {import('safetensors-mmap').SafeTensorsModel} model
 * @param {string} name
 */
function compute(model, name) {
  const tensor = model.tensor(name); // the shard is mapped here
  const shard = model.shards.find(({ file }) => file === model.shardOf(name));
  say(heading('Mapped, not read'));
  const watch = watchMapping(model.backend, shard?.path ?? model.path, say);
  watch('once mapped');
  const { bytes } = tensor; // a Uint8Array over the mapping
  watch(`with an array over ${bytes.length.toLocaleString('en')} bytes`);
  bytes.at(0);
  watch('after the first touch of it');

  const start = performance.now();
  const floats = floatsOf(tensor);
  if (floats === undefined) return;
  const lines = [...statistics(floats.values)];
  const took = performance.now() - start;
  watch('after a pass over all of it');

  say(heading(`Statistics of ${printable(name)}`));
  say(`${tensor.dtype} [${tensor.shape.join(', ')}], ${floats.how}, ${took.toFixed(1)} ms`);
  for (const line of lines) say(line);
}

/** @param {import('safetensors-mmap').SafeTensorsModel} model */
function classify(model) {
  say(heading('The model at work: which language is this number in?'));
  const languagesOf = numberLanguage(model);
  for (const text of PHRASES) {
    const [first, second] = languagesOf(text).map(({ label, probability }) => `${label} ${percent(probability)}`);
    say(`${text.padEnd(26)}${first}   (next ${second})`);
  }
}

/** @param {number} share */
function percent(share) {
  return `${(share * 100).toFixed(1)} %`.padStart(7);
}

/** @param {unknown} error */
function report(error) {
  const isOurs = error instanceof SafeTensorsError;
  if (!isOurs && !(error instanceof Error && 'syscall' in error)) throw error; // a defect: with its stack
  process.stderr.write(`demo: ${printable(error.message)}${isOurs ? ` (${error.code})` : ''}\n`);
  return isOurs && error.isFormatError ? 1 : 3;
}

const paths = process.argv.slice(2);
if (paths.length > 1 || paths[0] === '' || paths[0]?.startsWith('-')) {
  process.stderr.write('usage: npm run demo [-- PATH]   PATH: a .safetensors file, an index or a directory\n');
  process.exitCode = 2;
} else {
  try {
    await demo(paths[0] ?? OWN_MODEL);
  } catch (error) {
    process.exitCode = report(error);
  }
}

// Owns the demo's order of steps: list a model, load it, let it write; also its exit codes.
// Refuses the library's inner parts: everything here goes through public names and the command.
//
//   npm run demo                         the small model in examples/models
//   npm run demo -- PATH [PROMPT]        your own model; one that is no Llama or Qwen is listed only
//
// Exit codes: 0 fine, 1 the file breaks the format, 2 wrong arguments, 3 it cannot be read or run.

import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SafeTensorsError } from 'safetensors-mmap';
import { generate, LlamaError, type LlamaModel, loadModel } from '../llama/index.js';
import { list } from './listing.js';
import { residentBytes } from './resident.js';
import { kibibytes, perSecond, printable, printableText } from './text.js';

const OWN_MODEL = fileURLToPath(new URL('../../examples/models/kjv-llama', import.meta.url));
const OWN_PROMPT = 'And it came to pass';
/** The same seed writes the same text, on the same processor at least. */
const WRITING = { maxTokens: 110, temperature: 0.6, topK: 40, seed: 7 };

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function demo(path: string, prompt: string): Promise<number> {
  const status = list(path, say);
  if (status !== 0) return status;
  if (!['config.json', 'tokenizer.json'].every((file) => existsSync(join(path, file)))) {
    say('\nIt is listed only: a directory with config.json and tokenizer.json would be run as well.');
    return 0;
  }
  const start = performance.now();
  const model = await loadModel(path); // headers are read and checked; no weight is
  try {
    const took = (performance.now() - start).toFixed(0);
    const resident = residentOf(model);
    const weights = resident === undefined ? '' : `; ${kibibytes(resident)} of the weights are in this process`;
    say(`\nLoaded in ${took} ms: headers, configuration, tokenizer${weights}\n`);
    await write(model, prompt);
  } finally {
    model.close();
  }
  return 0;
}

/** Lets the model write, token by token as they come, and says what that took. */
async function write(model: LlamaModel, prompt: string): Promise<void> {
  const { weights } = model;
  const start = performance.now();
  let first: number | undefined;
  const generation = generate(model, prompt, WRITING);
  process.stdout.write(printableText(prompt));
  let step = await generation.next();
  for (; !step.done; step = await generation.next()) {
    first ??= performance.now();
    process.stdout.write(printableText(step.value.text));
  }
  const { tokens, promptTokens, reason } = step.value;
  const end = performance.now();
  say(reason === 'end' ? '' : ' …\n');
  if (first !== undefined) {
    say(`prompt      ${promptTokens} tokens, ${(first - start).toFixed(0)} ms; brings in the weights`);
    const rate = tokens > 1 ? `, ${perSecond(tokens - 1, end - first)} tokens per second` : '';
    say(`written     ${tokens} token${tokens === 1 ? '' : 's'}${rate}`);
  }
  if (weights.backend !== 'mmap') {
    say(`weights     ${kibibytes(weights.byteLength)}, not mapped but read when used (backend '${weights.backend}')`);
    return;
  }
  say(`mapped      ${kibibytes(weights.byteLength)}, ${weights.shards.length} files, as ${weights.protection}`);
  const resident = residentOf(model);
  if (resident !== undefined)
    say(`resident    ${kibibytes(resident)} in whole pages, by the kernel's count for this process`);
}

function residentOf({ weights }: LlamaModel): number | undefined {
  return residentBytes(weights.shards.map((shard) => shard.path));
}

function report(error: unknown): number {
  const isOurs = error instanceof SafeTensorsError || error instanceof LlamaError;
  if (!isOurs && !(error instanceof Error && 'syscall' in error)) throw error; // a defect: with its stack
  process.stderr.write(`demo: ${printable(error.message)}${isOurs ? ` (${error.code})` : ''}\n`);
  return error instanceof SafeTensorsError && error.isFormatError ? 1 : 3;
}

// `npm run demo | head`: nobody reads on, and that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? 0 : report(error));
});

const [path, prompt, ...more] = process.argv.slice(2);
if (more.length > 0 || path === '' || path?.startsWith('-')) {
  process.stderr.write('usage: npm run demo [-- PATH [PROMPT]]   PATH: a directory, a .safetensors file or an index\n');
  process.exitCode = 2;
} else {
  try {
    process.exitCode = await demo(path ?? relative(process.cwd(), OWN_MODEL), prompt ?? OWN_PROMPT);
  } catch (error) {
    process.exitCode = report(error);
  }
}

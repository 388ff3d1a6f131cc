#!/usr/bin/env node
// Owns the command `safetensors`: its words, its options, the order of steps, its exit code.
// Refuses to do the work: each command is a few calls into the files beside this one.

import { readFileSync } from 'node:fs';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { collect } from './collect.js';
import { EXIT, failureOf, lineOf } from './exit.js';
import { nameFilter } from './filter.js';
import { summaryJson, summaryText } from './info.js';
import { listingJson, listingText } from './ls.js';
import { SORTS, type Sort, sortRows } from './order.js';
import { writeAll } from './output.js';
import { summarize } from './summary.js';
import { paintFor } from './terminal.js';

const MODEL = 'a .safetensors file, a *.index.json, or a directory that holds either';

const EXIT_CODES = `
Exit codes:
  0  fine
  1  the file breaks a rule of the format
  2  the command line is wrong
  3  the file cannot be read (missing, forbidden, not a regular file), or the output not written
  70 a defect of this program`;

interface LsOptions {
  readonly sort: Sort;
  readonly filter: readonly string[];
  readonly json?: true;
  readonly heading: boolean;
}

async function ls(path: string, options: LsOptions): Promise<void> {
  const listing = await collect(path, nameFilter(options.filter));
  const sorted = { ...listing, rows: sortRows(listing.rows, options.sort) };
  const text = options.json
    ? listingJson(sorted)
    : listingText(sorted, { paint: paintFor(process.stdout, process.env), heading: options.heading });
  await writeAll(process.stdout, text);
}

async function info(path: string, options: { readonly json?: true }): Promise<void> {
  const summary = await summarize(path);
  const text = options.json ? [summaryJson(summary)] : summaryText(summary, paintFor(process.stdout, process.env));
  await writeAll(process.stdout, text);
}

/** Collects a repeated `--filter`; a glob that is not one is the user's mistake, said before any file is opened. */
function addGlob(glob: string, earlier: readonly string[]): readonly string[] {
  try {
    nameFilter([glob]);
  } catch (error) {
    throw new InvalidArgumentError(`Not a glob: ${error instanceof Error ? error.message : String(error)}.`);
  }
  return [...earlier, glob];
}

function version(): string {
  const manifest: { version: string } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  );
  return manifest.version;
}

function program(): Command {
  const root = new Command('safetensors')
    .description('Look into safetensors files. Headers are read, tensor data never is.')
    .version(version(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      outputError: (text, write) =>
        write(
          lineOf(
            text
              .trim()
              .replace(/^error: /, '')
              .replace(/^(unknown command '(.*[./\\].*)')$/s, '$1: is it a file? safetensors ls <path>')
              .replaceAll('\n', ' '),
          ),
        ),
    });

  root
    .command('ls')
    .summary('list the tensors: name, dtype, shape, offsets')
    .description('List the tensors of a model: name, dtype, shape, and byte offsets from the end of the header.')
    .argument('<path>', MODEL)
    .addOption(
      new Option('-s, --sort <by>', 'order: by name (natural), by offset (file order), by size (largest first)')
        .choices(SORTS)
        .default(SORTS[0]),
    )
    .addOption(
      new Option('-f, --filter <glob>', 'only names that match; may be repeated, !GLOB leaves names out')
        .argParser(addGlob)
        .default([], 'every name'),
    )
    .option('--json', 'print one JSON array')
    .option('--no-heading', 'print the rows alone, without heading and total')
    .addHelpText(
      'after',
      `
Examples:
  $ safetensors ls model.safetensors
  $ safetensors ls --sort size ./Llama-3.1-8B | head
  $ safetensors ls -f 'model.layers.{0..3}.*' -f '!*.bias' model.safetensors.index.json
  $ safetensors ls --json model.safetensors | jq -r '.[] | select(.dtype == "BF16") | .name'`,
    )
    .action(ls);

  root
    .command('info')
    .summary('sum up: size, metadata, parameters by dtype, alignment, shards')
    .description('Sum up a model: size, header, metadata, tensors and parameters by dtype, alignment, shards.')
    .argument('<path>', MODEL)
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Examples:
  $ safetensors info model.safetensors
  $ safetensors info --json ./Llama-3.1-8B | jq .parameters`,
    )
    .action(info);

  return root.addHelpText(
    'after',
    `
Examples:
  $ safetensors ls model.safetensors
  $ safetensors info ./Llama-3.1-8B
${EXIT_CODES}`,
  );
}

async function main(): Promise<number> {
  try {
    await program().parseAsync();
    return EXIT.ok;
  } catch (error) {
    // Commander has printed its own message; its code is 0 for help and version that were asked for.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    const { exitCode, line } = failureOf(error);
    process.stderr.write(line);
    return exitCode;
  }
}

// A reader that has gone is no failure, also of help and of messages.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
// Not process.exit(): what is still on its way to a pipe must arrive.
process.exitCode = await main();

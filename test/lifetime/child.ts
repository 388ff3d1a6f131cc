// Owns the running of a piece of JavaScript in a process of its own: what crashes, exits or is collected there is seen
// here. Refuses to build the library: that is the test command's first step.

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { LIBRARY } from './bundle.js';

/** Whether the addon under test carries AddressSanitizer, which turns signals into an exit code of its own. */
export const SANITIZED = process.env.SAFETENSORS_MMAP_EXPECT_SANITIZED === '1';
export const SANITIZER_EXIT = 66;

/** `buffer.transfer()` came with Node 22. */
export const HAS_TRANSFER = 'transfer' in ArrayBuffer.prototype;

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** What the child gave to `report`. */
  readonly reported: unknown[];
  readonly stderr: string;
}

// What every child has at hand.
const PRELUDE = `
import * as st from ${JSON.stringify(LIBRARY.href)};
import { liveMappings } from ${JSON.stringify(LIBRARY.href)};
import { readFileSync, readdirSync, readlinkSync, writeFileSync, writeSync, truncateSync, renameSync, unlinkSync } from 'node:fs';
import { Worker, markAsUntransferable } from 'node:worker_threads';
import { setTimeout as sleep } from 'node:timers/promises';
const [path] = process.argv.slice(1);
const report = (value) => writeSync(1, JSON.stringify(value) + '\\n');
const turn = () => new Promise((resolve) => setImmediate(resolve));
// Finalisers run a turn of the event loop after the collection that finds their objects.
const collect = async () => { for (let i = 0; i < 10; i++) { gc(); await turn(); } };
const maps = (name) => readFileSync('/proc/self/maps', 'utf8').split('\\n').filter((line) => line.endsWith(name)).length;
// What another thread is about to do: waited for, without end if it does not come, and then the child is killed.
const until = async (done) => { while (!done()) await sleep(1); };
const statusBytes = (kind) => Number(new RegExp(kind + ':\\\\s+(\\\\d+)').exec(readFileSync('/proc/self/status', 'utf8'))[1]) * 1024;
const threadCount = () => readdirSync('/proc/self/task').length;
const descriptors = () => readdirSync('/proc/self/fd').length;
const inWorker = (source, ...args) => new Worker(
  'import * as st from ' + JSON.stringify(${JSON.stringify(LIBRARY.href)}) + ';'
  + 'import { parentPort, workerData } from "node:worker_threads"; const path = workerData[0];' + source,
  { eval: true, workerData: [path, ...args] });
const ended = (worker) => new Promise((resolve) => worker.once('exit', resolve));
`;

/**
 * Runs a module in a new process, with `gc` and one path at hand; never throws for how it ended. `launcher` is a command
 * that starts the process, and ends with it.
 */
export function run(
  source: string,
  path: string,
  env: NodeJS.ProcessEnv = {},
  launcher: readonly string[] = [],
  timeout = 60_000,
): Promise<Ended> {
  const [command, ...args] = [...launcher, process.execPath, ...argumentsFor(source, path)];
  return new Promise((resolve) => {
    const child = execFile(command!, args, { env: { ...process.env, ...env }, timeout }, (_, out, err) => {
      const lines = out.split('\n').filter((line) => line !== '');
      const reported = lines.map((line) => JSON.parse(line) as unknown);
      resolve({ code: child.exitCode, signal: child.signalCode, reported, stderr: err });
    });
  });
}

// Each piece in a function of its own, after everything of the one before has been collected.
const SERVE = `
const pieces = { run: (source, report) => eval('(async () => {' + source + '\\n})()') };
process.on('message', async ({ source, mappings }) => {
  const reported = [];
  await collect();
  // Another thread gives large ones back, which takes its time on a busy machine. What is left for good is still found.
  for (let i = 0; i < 1000 && liveMappings() > mappings; i++) await sleep(1);
  const before = liveMappings();
  await pieces.run(source, (value) => { reported.push(JSON.parse(JSON.stringify(value))); });
  process.send({ before, reported });
});
process.send('ready');
`;

/**
 * A process that runs one piece of JavaScript after the other, for those that must not end it; starting one takes longer
 * than most of them do. `prelude` is run once.
 */
export class Companion {
  readonly #path: () => string;
  readonly #prelude: string;
  #child: ChildProcess | undefined;
  #stderr = '';

  constructor(path: () => string, prelude = '') {
    this.#path = path;
    this.#prelude = prelude;
    afterAll(() => this.#child?.kill());
  }

  /** What a piece reports. Rejects when the process has ended, has written to stderr, or had mappings left from before. */
  async run(source: string, mappingsBefore = 0): Promise<unknown[]> {
    this.#child ??= await this.#start();
    this.#child.send({ source, mappings: mappingsBefore });
    const { before, reported } = (await this.#answer(this.#child)) as { before: number; reported: unknown[] };
    if (before !== mappingsBefore) throw new Error(`the piece before has left ${before} mappings`);
    if (this.#stderr !== '') throw new Error(this.#stderr);
    return reported;
  }

  async #start(): Promise<ChildProcess> {
    const args = argumentsFor(this.#prelude + SERVE, this.#path());
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
    child.stderr!.on('data', (text: Buffer) => {
      this.#stderr += text.toString();
    });
    await this.#answer(child);
    return child;
  }

  #answer(child: ChildProcess): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const ended = (code: number | null, signal: string | null) => {
        this.#child = undefined;
        const stderr = this.#stderr;
        this.#stderr = '';
        reject(new Error(`the process has ended with ${signal ?? code}\n${stderr}`));
      };
      child.once('close', ended);
      child.once('message', (message) => {
        child.off('close', ended);
        resolve(message);
      });
    });
  }
}

function argumentsFor(source: string, path: string): string[] {
  return ['--expose-gc', '--no-warnings', '--input-type=module', '-e', PRELUDE + source, path];
}

/** A folder for one test file, removed when it is done. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'safetensors-lifetime-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

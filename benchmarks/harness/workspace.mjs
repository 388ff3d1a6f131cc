// Owns the folder of the test files and the process that is running; both are gone when the benchmark ends, however it ends.
// Refuses to leave anything behind: at the exit, after an error and at a signal the folder is removed.
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';

/** Longest that one sample may take, in milliseconds. */
const LONGEST = 180_000;

/**
 * What a process printed, or how it ended.
 * @typedef {{ ok: true, text: string } | { ok: false, error: string }} Outcome
 */

export class Workspace {
  /** @param {string} parent the directory of the test files: a disk, with room for them */
  constructor(parent) {
    this.folder = mkdtempSync(path.join(parent, 'safetensors-bench-'));
    /** @type {import('node:child_process').ChildProcess | undefined} */
    this.running = undefined;
    this.remove = () => rmSync(this.folder, { recursive: true, force: true });
    // The process first, or it would write into what is being removed.
    process.on('exit', () => {
      this.running?.kill('SIGKILL');
      this.remove();
    });
    for (const [signal, number] of /** @type {const} */ ([
      ['SIGINT', 2],
      ['SIGTERM', 15],
      ['SIGHUP', 1],
    ])) {
      process.on(signal, () => process.exit(128 + number));
    }
  }

  /**
   * @param {string} name
   * @returns {string} absolute
   */
  path(name) {
    return path.join(this.folder, name);
  }

  /** Removes the files of a case. */
  clear() {
    for (const name of readdirSync(this.folder)) rmSync(this.path(name), { recursive: true, force: true });
  }

  /**
   * Runs a command to its end. Does not throw.
   * @param {readonly string[]} command
   * @returns {Promise<Outcome>}
   */
  run([program = '', ...args]) {
    return new Promise((resolve) => {
      const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
      this.running = child;
      let text = '';
      let errors = '';
      const timer = setTimeout(() => child.kill('SIGKILL'), LONGEST);
      child.stdout.setEncoding('utf8').on('data', (chunk) => {
        text += chunk;
      });
      child.stderr.setEncoding('utf8').on('data', (chunk) => {
        errors += chunk;
      });
      /** @param {string} error */
      const fail = (error) => resolve({ ok: false, error: this.#withoutPaths(error) });
      child.on('error', (error) => fail(error.message));
      child.on('close', (status, signal) => {
        clearTimeout(timer);
        this.running = undefined;
        if (status === 0) resolve({ ok: true, text });
        else fail(complaintOf(errors) ?? (signal === null ? `exit code ${status}` : `ended by ${signal}`));
      });
    });
  }

  /**
   * Results are committed: they name no directory of the machine that made them.
   * @param {string} text
   */
  #withoutPaths(text) {
    return text.replaceAll(this.folder, '…').replace(/(?:\/[\w.@+-]+){3,}/g, (found) => path.basename(found));
  }
}

/**
 * The line of a stack trace that says what was wrong, Node's or Python's.
 * @param {string} errors
 * @returns {string | undefined}
 */
function complaintOf(errors) {
  const lines = errors.split('\n').map((line) => line.trim());
  const named = lines.filter((line) => /^(?:Uncaught )?[\w.]*(?:Error|Exception)\b.*:/.test(line));
  return (named.at(-1) ?? lines.filter(Boolean).at(-1))?.slice(0, 200);
}

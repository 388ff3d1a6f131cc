// Owns the running of the built command in a process of its own, where exit codes and streams are real.
// Refuses to build it: that is the test command's first step.

import { execFile, execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The built command. */
export const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
if (!existsSync(MAIN)) throw new Error('dist/cli/main.js is missing: build the library before its tests');

export interface Result {
  readonly status: number | string | null | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** Variables that would colour the output of a test run by a person or a service. */
const NO_COLOURS = { NO_COLOR: undefined, FORCE_COLOR: undefined, CI: undefined, TERM: 'xterm' };

/** Runs `safetensors` with these arguments. */
export function safetensors(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Result> {
  return run(process.execPath, [MAIN, ...args], env);
}

/** Runs a shell command line in which `"$@"` is `safetensors` with these arguments. */
export function shell(line: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Result> {
  return run('/bin/sh', ['-c', line, 'sh', process.execPath, MAIN, ...args], env);
}

function run(file: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<Result> {
  return new Promise((resolve) => {
    const options = { env: { ...process.env, ...NO_COLOURS, ...env }, maxBuffer: 1 << 28 };
    execFile(file, args, options, (error, stdout, stderr) => {
      resolve({ status: error ? error.code : 0, stdout, stderr });
    });
  });
}

/** Makes a named pipe. */
export function makeFifo(path: string): void {
  execFileSync('mkfifo', [path]);
}

// Owns the program: command line in, server up, signals in, server down. Refuses to do any of it itself.

import { readArguments, USAGE, UsageError } from './arguments.js';
import { loadLlama } from './engine.js';
import { createServer } from './server.js';

const report = (line: string) => process.stderr.write(`${line}\n`);

async function main(): Promise<void> {
  const given = readArguments(process.argv.slice(2));
  if (given === undefined) {
    process.stdout.write(USAGE);
    return;
  }
  const server = await createServer({ models: given.models, load: loadLlama, host: given.host, report });
  let stopping = false;
  const stop = (signal: NodeJS.Signals) => {
    // Whoever asks twice does not want to wait.
    if (stopping) process.exit(1);
    stopping = true;
    report(`${signal}: shutting down`);
    server.close().then(() => report('closed'), fail);
  };
  process.on('SIGTERM', stop).on('SIGINT', stop);
  // Whoever read the log may have gone; those who are served have not.
  process.stderr.on('error', () => {});
  process.stdout.write(`${await server.listen(given.port)}\n`);
}

function fail(error: unknown): void {
  const isUsage = error instanceof UsageError;
  report(isUsage ? `${error.message}\n\n${USAGE}` : String(error));
  process.exitCode = isUsage ? 2 : 1;
}

main().catch(fail);

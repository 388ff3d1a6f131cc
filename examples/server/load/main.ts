// Owns a bounded load on a server of its own: fifty connections that generate, while a large model is brought in from disk.
// Refuses to pass when an answer is none of the documented ones, when the event loop was late, or when memory grew.
//
//   node dist-examples/server/load/main.js [seconds [MiB of the large model [directory of the small one]]]

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import autocannon from 'autocannon';
import { makeLargeModel } from './large-model.js';
import { delayQuantile, type Reading, read } from './readings.js';

const [seconds = '15', mebibytes = '1024', small = 'examples/models/kjv-llama'] = process.argv.slice(2);

const RUNS = 3;
const CONNECTIONS = 50;
/** Seconds; of 100 looks at the event loop, 99 are to find it no later. */
const MOST_DELAY = 0.02;
/** What the process's own memory may differ by, in MiB: a collection more or less. */
const MOST_GROWTH = 16;

const server = fileURLToPath(new URL('../main.js', import.meta.url));
const failures: string[] = [];

async function main(): Promise<void> {
  console.log(`making a model of ${mebibytes} MiB`);
  const large = await makeLargeModel(small, Number(mebibytes) * 2 ** 20);
  const child = spawn(process.execPath, [server, '--port', '0', `small=${small}`, `large=${large}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const address = await addressOf(child);
    await ready(address);
    const before = await read(address);
    await shoot(address, Math.min(5, Number(seconds)));
    const { atMost, looks } = delayQuantile(before, await read(address), 0.99);
    console.log(`for comparison, with nothing being loaded: 99 % of ${looks} looks at most ${atMost * 1000} ms late`);
    const memory: number[] = [];
    for (let run = 1; run <= RUNS; run++) memory.push(await measure(address, run));
    const growth = memory.at(-1)! - memory[0]!;
    check(
      growth <= MOST_GROWTH,
      `memory without pages of files: ${memory.map((one) => one.toFixed(0)).join(', ')} MiB`,
    );
  } finally {
    child.kill('SIGTERM');
    if (child.exitCode === null) await once(child, 'exit');
    await rm(large, { recursive: true, force: true });
  }
  check(child.exitCode === 0, `the server ended with ${child.exitCode ?? child.signalCode}`);
  process.exitCode = failures.length > 0 ? 1 : 0;
}

/** One run; returns the process's own memory after it, in MiB. */
async function measure(address: string, run: number): Promise<number> {
  await ask(address, 'evict');
  await sleep(200);
  const before = await read(address);
  const cold = resident(before);
  const shooting = shoot(address, Number(seconds));
  await sleep(1000);
  await ask(address, 'prefetch');
  const took = await ready(address);
  const loaded = resident(await read(address));
  const { statuses, broken, errors } = await shooting;
  const after = await read(address);
  const { atMost, looks } = delayQuantile(before, after, 0.99);
  const tokens =
    (after.get('generated_tokens_total{model="small"}') ?? 0) -
    (before.get('generated_tokens_total{model="small"}') ?? 0);

  console.log(
    `run ${run}: ${cold} MiB of the large model in memory before, ${loaded} after ${took.toFixed(1)} s of the run; ${tokens} tokens`,
  );
  const answers = [...statuses].map(([status, count]) => `${count} × ${status}`).join(', ');
  check(
    errors === 0 && broken === 0 && [...statuses.keys()].every((status) => status === 200 || status === 429),
    `answers: ${answers}; ${broken} streams without a summary, ${errors} errors of the connection`,
  );
  check(atMost <= MOST_DELAY, `99 % of ${looks} looks found the event loop at most ${atMost * 1000} ms late`);
  return (after.get('process_anonymous_memory_bytes') ?? 0) / 2 ** 20;
}

/** Generates on all connections for a while. */
async function shoot(address: string, duration: number) {
  const statuses = new Map<number, number>();
  let broken = 0;
  const result = await autocannon({
    url: address,
    connections: CONNECTIONS,
    duration,
    requests: [
      {
        method: 'POST',
        path: '/generate',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'small', prompt: 'In the beginning', maxTokens: 8 }),
        onResponse: (status, body) => {
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          if (status === 200 && !body.includes('event: summary')) broken += 1;
        },
      },
    ],
  });
  return { statuses, broken, errors: result.errors + result.timeouts };
}

async function addressOf(child: ChildProcess): Promise<string> {
  const [line] = (await once(child.stdout!.setEncoding('utf8'), 'data')) as [string];
  return line.trim();
}

/** Waits until the large model is in memory; returns the seconds that took. */
async function ready(address: string): Promise<number> {
  const began = performance.now();
  for (;;) {
    const { models } = (await (await fetch(`${address}/health`)).json()) as {
      models: { name: string; state: string }[];
    };
    if (models.every(({ state }) => state === 'ready')) return (performance.now() - began) / 1000;
    await sleep(50);
  }
}

async function ask(address: string, action: 'evict' | 'prefetch'): Promise<void> {
  const { status } = await fetch(`${address}/models/large/${action}`, { method: 'POST' });
  if (status >= 300) throw new Error(`${action}: ${status}`);
}

function resident(reading: Reading): number {
  return Math.round((reading.get('model_resident_bytes{model="large"}') ?? 0) / 2 ** 20);
}

function check(holds: boolean, what: string): void {
  console.log(`${holds ? 'ok  ' : 'MISS'}  ${what}`);
  if (!holds) failures.push(what);
}

await main();

// Whether a conversion off the event loop leaves it free, and how soon an abort is obeyed.
//
//   node benchmarks/float32/run.mjs
//
// A BF16 tensor that becomes 1 GiB of floats, cached by the system beforehand. Longest delays as monitorEventLoopDelay
// sees them, beside those of the same loop with nothing to do.

import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

import { open } from '../../dist/index.js';

const ELEMENTS = 2 ** 28;
const folder = mkdtempSync(join(tmpdir(), 'safetensors-bench-'));

function makeFile() {
  const path = join(folder, 'bf16.safetensors');
  const header = Buffer.from(
    JSON.stringify({ t: { dtype: 'BF16', shape: [2 ** 14, 2 ** 14], data_offsets: [0, ELEMENTS * 2] } }).padEnd(128),
  );
  const prefix = Buffer.alloc(8);
  prefix.writeBigUInt64LE(BigInt(header.length));
  const descriptor = openSync(path, 'w');
  writeSync(descriptor, Buffer.concat([prefix, header]));
  const piece = Buffer.alloc(2 ** 22, 0x3f);
  for (let at = 0; at < ELEMENTS * 2; at += piece.length) writeSync(descriptor, piece);
  closeSync(descriptor);
  return path;
}

/** Longest delay of the event loop while some work runs, in milliseconds, and how long that took. */
async function longestDelay(work) {
  const delays = monitorEventLoopDelay({ resolution: 1 });
  await sleep(20);
  delays.enable();
  const start = performance.now();
  await work();
  const ms = performance.now() - start;
  delays.disable();
  // The histogram counts from timer to timer: what is above its own resolution is delay.
  return { longest: delays.max / 1e6 - 1, p99: delays.percentile(99) / 1e6 - 1, ms };
}

try {
  const file = await open(makeFile());
  const tensor = file.tensor('t');
  const target = new Float32Array(ELEMENTS).fill(1);
  const rows = [
    ['nothing', () => sleep(500)],
    ['a reused target, 1 thread', () => tensor.toFloat32({ target })],
    ['a reused target, 2 threads', () => tensor.toFloat32({ target, threads: 2 })],
    ['fresh memory, 1 thread', () => tensor.toFloat32()],
    ['the first half of each row', () => tensor.slice(null, [0, 2 ** 13]).toFloat32()],
  ];
  for (const [name, work] of rows) {
    const runs = [];
    for (let i = 0; i < 5; i++) runs.push(await longestDelay(work));
    runs.sort((a, b) => a.longest - b.longest);
    const { longest, p99, ms } = runs[2];
    console.log(
      `${name.padEnd(28)} ${ms.toFixed(0).padStart(5)} ms, longest delay ${longest.toFixed(2)} ms (of five runs the median; ` +
        `${runs[0].longest.toFixed(2)} to ${runs[4].longest.toFixed(2)}), p99 ${p99.toFixed(2)} ms`,
    );
    if (longest > 5) process.exitCode = 1;
  }
  const waits = [];
  for (let i = 0; i < 11; i++) {
    const controller = new AbortController();
    const converting = tensor.toFloat32({ target, threads: 2, signal: controller.signal });
    await sleep(10);
    const start = performance.now();
    controller.abort();
    await converting.then(
      () => {
        throw new Error('not aborted');
      },
      () => waits.push(performance.now() - start),
    );
  }
  waits.sort((a, b) => a - b);
  console.log(
    `an abort rejects after ${waits[5].toFixed(2)} ms (of eleven the median; at most ${waits[10].toFixed(2)})`,
  );
  if (waits[10] > 50) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true });
}

// Owns how late the event loop is while something goes on: loading, converting, closing, collecting.
// Refuses averages: the 99th hundredth and the longest delay are what users of a server see.
import { open as openReading } from 'node:fs/promises';
import { constants, monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

import { nativeBinding } from '../../dist/binding.js';
import { open } from '../../dist/index.js';
import { quantile } from '../harness/statistics.mjs';
import { now, sumInTurns, sumWords, turn, warmUp } from './clock.mjs';

/** Delays of the event loop in ms until `stop`. The histogram counts from timer to timer, each 1 ms apart at best. */
export async function watch() {
  const delays = monitorEventLoopDelay({ resolution: 1 });
  await sleep(20);
  delays.enable();
  const since = (/** @type {number} */ ns) => Math.max(0, ns / 1e6 - 1);
  return {
    stop() {
      delays.disable();
      return { longest: since(delays.max), p99: since(delays.percentile(99)) };
    },
  };
}

/** Runs work and gives the delay that `report` names, in milliseconds, with the time that it took. */
async function delayed(report, work) {
  warmUp();
  const { stop } = await watch();
  const start = now();
  const checksum = await work();
  const ms = (now() - start) / 1e6;
  await sleep(2);
  const delays = stop();
  return { value: delays[report], checksum, extra: { ...delays, ms } };
}

/** A server that loads cold tensors one after the other: `how` is prefetch, lazy or read. */
export function serve({ path, how, report = 'p99' }) {
  return delayed(report, async () => {
    let checksum = 0;
    if (how === 'read') {
      const file = await openReading(path);
      const prefix = Buffer.alloc(8);
      await file.read(prefix, 0, 8, 0);
      const header = Buffer.alloc(Number(prefix.readBigUInt64LE()));
      await file.read(header, 0, header.length, 8);
      const { __metadata__: _, ...tensors } = JSON.parse(header.toString());
      for (const { data_offsets: offsets } of Object.values(tensors)) {
        const bytes = Buffer.allocUnsafeSlow(offsets[1] - offsets[0]);
        await file.read(bytes, 0, bytes.length, 8 + header.length + offsets[0]);
        checksum = (checksum + (await sumInTurns(bytes, 4096))) | 0;
      }
      await file.close();
      return checksum;
    }
    const file = await open(path);
    for (const [name, tensor] of file) {
      if (how === 'prefetch') await file.prefetch([name]);
      checksum = (checksum + (await sumInTurns(tensor.bytes, 4096))) | 0;
    }
    file.close();
    return checksum;
  });
}

/** Nothing at all: what the machine itself delays. */
export function idle({ ms }) {
  return delayed('longest', async () => {
    await sleep(ms);
    return undefined;
  });
}

/** Every page of a file, with a turn of the event loop after each tensor. A function of its own: it keeps nothing. */
async function touchAll(file) {
  let checksum = 0;
  for (const tensor of file.values()) {
    checksum = (checksum + sumWords(tensor.bytes, 4096)) | 0;
    await turn();
  }
  return checksum;
}

/** Bytes of this process that are in memory. */
const resident = () => process.memoryUsage.rss();

/** Longest that is waited for memory to be given back, in milliseconds. */
const PATIENCE = 4000;

/** Touches all of a file, untimed, then closes it or drops it; the delays until the mapping has ended. */
export async function release({ path, how }) {
  warmUp();
  const before = resident();
  let file = await open(path);
  const checksum = await touchAll(file);
  const touched = resident();
  const binding = nativeBinding();
  let given = PATIENCE;
  const result = await delayed('longest', async () => {
    const start = now();
    if (how === 'close') {
      file.close();
    } else {
      file = undefined;
      globalThis.gc();
    }
    const call = now() - start;
    // Finalisers run in a later turn, and what they leave to other threads ends later still.
    const isGone = () => given < PATIENCE && (how === 'close' || binding.liveMappings() === 0);
    for (let ms = 0; ms < 200 || (ms < PATIENCE && !isGone()); ms = (now() - start) / 1e6) {
      await sleep(2);
      // Given back: not a hundredth of what was touched is left.
      if (given === PATIENCE && resident() - before < (touched - before) / 100) given = (now() - start) / 1e6;
    }
    return call;
  });
  if (how === 'collect' && binding.liveMappings() > 0) throw new Error('the file is still mapped');
  return { value: result.value, checksum, extra: { ...result.extra, call: result.checksum / 1e6, given } };
}

/**
 * One turn of a loop that allocates, in nanoseconds, with so many GiB mapped and viewed, or none: the median of some. Apart
 * from it `first`, the turn after the views were made, in whose way the heap grows again to what V8 has shrunk it from; and
 * the collections of the whole heap from before the first view.
 */
export async function allocate({ path, mapped }) {
  let majors = 0;
  const observer = new PerformanceObserver((list) => {
    for (const { detail } of list.getEntries()) if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) majors++;
  });
  observer.observe({ entryTypes: ['gc'] });
  let checksum = 0;
  const churn = () => {
    const start = now();
    const kept = [];
    for (let i = 0; i < 3_000_000; i++) kept[i & 0xffff] = { i, text: `${i}`, list: [i, i + 1] };
    checksum += kept.length;
    return now() - start;
  };
  churn();
  await sleep(20);
  majors = 0;
  const views = [];
  const file = mapped ? await open(path) : undefined;
  for (const tensor of file?.values() ?? []) views.push(tensor.data);
  const times = [];
  for (let i = 0; i < 4; i++) {
    times.push(churn());
    await turn();
  }
  await sleep(20);
  observer.disconnect();
  file?.close();
  const [first = 0, ...rest] = times;
  return { value: quantile(rest, 0.5), checksum, extra: { first, majors, views: views.length } };
}

/** A conversion off the event loop. */
export async function convert({ path, name, threads, fresh = false }) {
  const file = await open(path);
  const tensor = file.tensor(name);
  const target = fresh ? undefined : new Float32Array(tensor.length).fill(1);
  const result = await delayed('longest', async () => {
    const floats = await tensor.toFloat32({ target, threads });
    return floats;
  });
  const checksum = sumWords(result.checksum, 4096);
  file.close();
  return { ...result, checksum };
}

/** How long an abort of a conversion takes to reject, in milliseconds. */
export async function abort({ path, name }) {
  const file = await open(path);
  const tensor = file.tensor(name);
  const target = new Float32Array(tensor.length).fill(1);
  const controller = new AbortController();
  const converting = tensor.toFloat32({ target, threads: 2, signal: controller.signal });
  await sleep(10);
  const start = now();
  controller.abort();
  const outcome = await converting.then(
    () => 'done',
    () => 'aborted',
  );
  const value = (now() - start) / 1e6;
  file.close();
  if (outcome !== 'aborted') throw new Error('the conversion was done before the abort');
  return { value, checksum: 0 };
}

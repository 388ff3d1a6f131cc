// Owns how the jobs measure: the clock, rounds within a process, and the sums that prove what was read.
// Refuses to load anything.
import { quantile } from '../harness/statistics.mjs';

/** @returns {number} nanoseconds */
export function now() {
  return Number(process.hrtime.bigint());
}

/**
 * The sum of one 32-bit word in each `step` bytes, as the C program computes it. A cache line has 64 bytes, a page 4096.
 * @param {ArrayBufferView} data at a multiple of 4
 * @param {number} step a multiple of 4
 * @returns {number} modulo 2^32, signed
 */
export function sumWords(data, step) {
  const words = new Uint32Array(data.buffer, data.byteOffset, data.byteLength >> 2);
  const stride = step >> 2;
  let sum = 0;
  for (let i = 0; i < words.length; i += stride) sum = (sum + /** @type {number} */ (words[i])) | 0;
  return sum;
}

const MiB = 2 ** 20;

/** A turn of the event loop: where a server would answer. */
export const turn = () => new Promise((resolve) => setImmediate(resolve));

/**
 * The same sum, with a turn of the event loop after each MiB: the walk through new pages is the reader's own work, and would
 * else count as a delay of loading.
 * @param {Uint8Array} bytes
 * @param {number} step
 * @returns {Promise<number>}
 */
export async function sumInTurns(bytes, step) {
  let sum = 0;
  for (let at = 0; at < bytes.length; at += MiB) {
    sum = (sum + sumWords(bytes.subarray(at, at + MiB), step)) | 0;
    await turn();
  }
  return sum;
}

/** Has sumWords compiled before the clock starts: what is measured is loading. */
export function warmUp() {
  const data = new Uint8Array(2 ** 20);
  for (let i = 0; i < 50; i++) for (const step of [4, 64, 4096]) sumWords(data, step);
}

/** Timed rounds that are made however long they take. */
const LEAST = 3;

/**
 * The median over rounds within this process, for what takes micro- or milliseconds; the first rounds warm up.
 * @param {{ rounds: number, warm: number, seconds: number, collect?: boolean }} plan `seconds`: after which no other round
 *   begins, and as long again for warming up. `collect`: what one round leaves is gone before the next.
 *   Not where buffers are mapped: right after a forced collection V8 begins another for each of them
 * @param {() => { checksum: number, ns?: number } | Promise<{ checksum: number, ns?: number }>} work `ns` when it has a
 *   clock of its own
 */
export async function inRounds({ rounds, warm, seconds, collect = false }, work) {
  const times = [];
  let checksum;
  let first = 0;
  let begin = now();
  for (let round = -warm; round < rounds; round++) {
    if (collect) globalThis.gc?.();
    // Finalisers have their turn, outside the clock.
    await new Promise((resolve) => setImmediate(resolve));
    const start = now();
    const result = work();
    // No turn of the event loop between the clock's two readings where the work is synchronous.
    const done = result instanceof Promise ? await result : result;
    const ns = done.ns ?? now() - start;
    if (checksum !== undefined && checksum !== done.checksum) throw new Error('the answer changed between rounds');
    checksum = done.checksum;
    if (round === -warm) first = ns;
    if (round >= 0) times.push(ns);
    if (round === -1) begin = now();
    const late = now() - begin > seconds * 1e9;
    if (late && times.length >= LEAST) break;
    if (late && round < -1) round = -2;
  }
  const mean = times.reduce((sum, ns) => sum + ns, 0) / times.length;
  return { value: quantile(times, 0.5), checksum, extra: { first, mean, rounds: times.length } };
}

/**
 * @param {{ rounds?: number, warm?: number, seconds?: number, collect?: boolean }} args
 */
export function planOf({ rounds = 31, warm = 5, seconds = 1, collect = false }) {
  return { rounds, warm, seconds, collect };
}

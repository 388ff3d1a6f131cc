// How long the strict header reader takes beside a bare JSON.parse of the same bytes, and how much memory its result.
//
//   node --expose-gc benchmarks/header/run.mjs
//
// Interleaved in one process, median of the ratios of pairs. Both start from bytes; JSON.parse gets no rule to check.

import { Header } from '../../dist/header.js';
import { makeHeader } from './generate.mjs';

const COUNTS = [300, 18_432, 100_000, 500_000];
const GOALS = { 18432: 0.45, 100000: 0.3, 500000: 0.3 };

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

/** Milliseconds of one reading. Its result is gone when the next begins: a tree left over would be traced meanwhile. */
function timed(who, work, count) {
  const start = process.hrtime.bigint();
  const result = work();
  const ms = Number(process.hrtime.bigint() - start) / 1e6;
  const size = who === 'ours' ? result.size : Object.keys(result).length - 1;
  if (size !== count) throw new Error(`${who} found ${size} tensors of ${count}`);
  return ms;
}

/** Bytes that a result keeps alive, heap and buffers. */
function retained(make) {
  globalThis.gc();
  const before = process.memoryUsage();
  const result = make();
  globalThis.gc();
  const after = process.memoryUsage();
  if (result === undefined) throw new Error('no result');
  return after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers;
}

let failed = false;
for (const count of COUNTS) {
  const { bytes, dataLength } = makeHeader(count);
  const ours = () => new Header(bytes, 8 + bytes.length + dataLength, undefined);
  const bare = () => JSON.parse(bytes.toString());
  const rounds = count > 200_000 ? 11 : count > 50_000 ? 21 : 61;
  const ratios = [];
  const times = { ours: [], bare: [] };
  for (let round = 0; round < rounds + 3; round++) {
    const order = round % 2 === 0 ? ['ours', 'bare'] : ['bare', 'ours'];
    const pair = {};
    for (const who of order) {
      globalThis.gc?.();
      pair[who] = timed(who, who === 'ours' ? ours : bare, count);
    }
    if (round < 3) continue; // the compiler is warming up
    ratios.push(pair.ours / pair.bare);
    times.ours.push(pair.ours);
    times.bare.push(pair.bare);
  }
  const ratio = median(ratios);
  const memory = globalThis.gc ? retained(ours) / retained(bare) : undefined;
  const goal = GOALS[count];
  if (goal !== undefined && ratio > goal) failed = true;
  console.log(
    `${String(count).padStart(7)} tensors, ${(bytes.length / 1e6).toFixed(1).padStart(5)} MB: ` +
      `ours ${median(times.ours).toFixed(2)} ms, JSON.parse ${median(times.bare).toFixed(2)} ms, ratio ${ratio.toFixed(3)}` +
      `${goal === undefined ? '' : ` (goal ${goal})`}` +
      `${memory === undefined ? '' : `, memory ${memory.toFixed(3)} of the tree's`}`,
  );
}
process.exitCode = failed ? 1 : 0;

// Owns three figures that need many rounds in one process: how long parse() takes beside a bare JSON.parse of the same
// bytes, opening a large file beside a small one, and one view. Refuses contenders that read data: those are in cases/.
//
//   node --expose-gc benchmarks/parse.mjs
//
// In turns, the median of the ratios of pairs. JSON.parse gets no rule to check. Exits with 1 when a goal is missed.
import { closeSync, ftruncateSync, mkdtempSync, openSync as openFile, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openSync, parse } from '../dist/index.js';

const { gc } = globalThis;
if (gc === undefined) throw new Error('run it with --expose-gc: what one round leaves would be collected in the next');

/** Tensors, rounds, the goal. @type {[count: number, rounds: number, goal: number | undefined][]} */
const COUNTS = [
  [300, 101, undefined],
  [18_432, 61, 0.45],
  [100_000, 21, 0.3],
  [500_000, 11, 0.3],
];
const WARM = 3;

/** @param {number[]} values */
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

/** Milliseconds. @param {() => unknown} work */
function timed(work) {
  const start = process.hrtime.bigint();
  work();
  return Number(process.hrtime.bigint() - start) / 1e6;
}

/**
 * Length and header of a file of equal tensors, named as a language model's.
 * @param {number} count
 * @param {number} bytesEach
 */
function headerOf(count, bytesEach) {
  const entries = Array.from({ length: count }, (_, i) => {
    const [begin, end] = [i * bytesEach, (i + 1) * bytesEach];
    const name = `model.layers.${Math.floor(i / 9)}.self_attn.${i % 9}.weight`;
    return `"${name}":{"dtype":"F32","shape":[1,${bytesEach / 4}],"data_offsets":[${begin},${end}]}`;
  });
  const text = `{"__metadata__":{"format":"pt"},${entries.join(',')}}`;
  const header = Buffer.from(text.padEnd(Math.ceil(text.length / 8) * 8));
  const prefix = Buffer.alloc(8);
  prefix.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([prefix, header]);
}

const missed = { any: false };
/**
 * @param {string} what
 * @param {number} figure
 * @param {number | undefined} most
 * @param {number} [least]
 */
function judge(what, figure, most, least = 0) {
  const met = most === undefined || (figure <= most && figure >= least);
  if (!met) missed.any = true;
  const goal = most === undefined ? '' : ` (goal ${least > 0 ? `${least} to ` : '≤ '}${most}${met ? '' : ': MISSED'})`;
  console.log(`${what}: ${figure.toFixed(3)}${goal}`);
}

for (const [count, rounds, goal] of COUNTS) {
  const head = headerOf(count, 4);
  const file = Buffer.concat([head, Buffer.alloc(count * 4)]);
  const header = head.subarray(8);
  const ours = () => {
    if (parse(file).size !== count) throw new Error('not all tensors');
  };
  const bare = () => JSON.parse(header.toString());
  /** @type {number[]} */
  const ratios = [];
  for (let round = -WARM; round < rounds; round++) {
    gc();
    const first = timed(round % 2 === 0 ? ours : bare);
    gc();
    const second = timed(round % 2 === 0 ? bare : ours);
    if (round >= 0) ratios.push(round % 2 === 0 ? first / second : second / first);
  }
  judge(
    `parse of ${count} tensors, ${(header.length / 1e6).toFixed(1)} MB, in parts of JSON.parse`,
    median(ratios),
    goal,
  );
}

const folder = mkdtempSync(path.join(tmpdir(), 'safetensors-bench-'));
/**
 * A file with holes for data.
 * @param {string} name
 * @param {number} count
 * @param {number} bytesEach
 */
function sparse(name, count, bytesEach) {
  const head = headerOf(count, bytesEach);
  const file = path.join(folder, name);
  const descriptor = openFile(file, 'w');
  writeSync(descriptor, head);
  ftruncateSync(descriptor, head.length + count * bytesEach);
  closeSync(descriptor);
  return file;
}

try {
  const small = sparse('small', 256, 2 ** 15);
  const large = sparse('large', 256, 2 ** 25);
  /** @type {number[]} */
  const ratios = [];
  for (let round = -200; round < 1001; round++) {
    const pair = [large, small];
    if (round % 2 !== 0) pair.reverse();
    const [first = 0, second = 0] = pair.map((file) => timed(() => openSync(file).close()));
    if (round >= 0) ratios.push(round % 2 === 0 ? first / second : second / first);
  }
  judge('opening 8 GiB in parts of opening 8 MiB', median(ratios), 1.2, 0.8);

  const many = sparse('many', 18_432, 1024);
  const walks = [];
  const lookUps = [];
  for (let round = -20; round < 61; round++) {
    gc();
    const file = openSync(many);
    const names = [...file.keys()];
    let elements = 0;
    const walk = timed(() => {
      for (const tensor of file.values()) elements += tensor.data.length;
    });
    const lookUp = timed(() => {
      for (const name of names) elements += file.tensor(name).data.length;
    });
    if (elements !== 2 * 18_432 * 256) throw new Error('wrong views');
    file.close();
    if (round < 0) continue;
    walks.push((walk * 1000) / names.length);
    lookUps.push((lookUp * 1000) / names.length);
  }
  judge('a view in a walk over 18,432, in µs', median(walks), 0.5);
  judge('a view by name, in µs', median(lookUps), 0.5);
} finally {
  rmSync(folder, { recursive: true });
}
process.exitCode = missed.any ? 1 : 0;

// Owns case 8: small floats to float32, from a mapped file into reused and into fresh memory, on one thread.
// Refuses to choose the C contender: stores that are cached and that stream are two.
import { readFileSync } from 'node:fs';
import { arch } from 'node:os';

import { makeFile, tensorOf } from '../harness/files.mjs';

export const number = 8;
export const title = 'Conversion to float32';

const MiB = 2 ** 20;
const BYTES = { BF16: 2, F16: 2, F8_E4M3: 1 };
const ROUNDS = 15;
const FRESH_ROUNDS = 3;
/** Samples of what is many times slower, or only for comparison. */
const FEW = 2;

/** The instruction sets of this processor for which the C program has kernels, the best one first. */
function instructionSets() {
  if (arch() === 'arm64') return ['neon'];
  const flags = readFileSync('/proc/cpuinfo', 'utf8');
  return [
    ...(/\bavx512bw\b/.test(flags) && /\bavx512vl\b/.test(flags) ? ['avx512'] : []),
    ...(/\bavx2\b/.test(flags) && /\bf16c\b/.test(flags) ? ['avx2'] : []),
  ];
}

/**
 * One race: a dtype, a target and an instruction set.
 * @param {import('../harness/run-case.mjs').Context} context
 * @param {{ made: import('../harness/files.mjs').Made, dtype: keyof BYTES, fresh: boolean, set: string, best: boolean }} plan
 */
function race({ commands, quick }, { made, dtype, fresh, set, best }) {
  const { path } = made;
  const { begin, end } = tensorOf(made, 0);
  const elements = (end - begin) / BYTES[dtype];
  const plan = fresh ? { rounds: FRESH_ROUNDS, warm: 1 } : { rounds: ROUNDS, warm: 3 };
  const loop = { dtype, path, begin, end, fresh, ...plan };
  const kernels = [`C, ${set}`, `C, ${set}, streaming`];
  const torch = fresh ? 'torch .float()' : 'torch copy_';
  const slow =
    quick && (fresh || dtype !== 'BF16')
      ? { skipped: 'once is enough for a quick run: it takes seconds to start' }
      : {};
  const where = `${dtype}, ${fresh ? 'fresh memory' : 'a reused target'}, ${set}`;
  /**
   * @param {string} name
   * @param {string | string[]} against
   * @param {number} atLeast
   */
  const goal = (name, against, atLeast, headline = false) => ({
    text: `${where}: speed in parts of ${name}`,
    subject: 'toFloat32Array',
    against,
    rate: true,
    atLeast,
    headline,
  });
  const inC = kernels.map((name, streaming) => {
    const args = [
      path,
      begin,
      elements,
      dtype,
      set,
      streaming,
      fresh ? FRESH_ROUNDS : ROUNDS,
      ...(fresh ? ['fresh'] : []),
    ];
    return commands.limit(name, 'convert', ...args);
  });
  // The same whatever the instruction set is: measured beside the best one, for a factor.
  const others = [
    { ...commands.javascript('JavaScript loop', 'loops', 'convert', loop), rounds: FEW },
    { ...commands.python(torch, 'convert', { path, name: 'w', fresh, framework: 'torch' }), ...slow },
  ];
  if (!fresh) {
    others.push({ ...commands.limit('memcpy', 'copy-memory', elements * 4, ROUNDS), rounds: FEW });
  }
  const ours = { path, name: 'w', fresh, kernel: set, ...plan };
  return {
    key: `${dtype}-${fresh ? 'fresh' : 'reused'}-${set}`,
    title: `${where}, ${(elements * 4) / MiB} MiB of output`,
    unit: /** @type {const} */ ('ns'),
    bytes: elements * 4,
    // The pages that a process gets make one in five half as slow again, whatever it runs: few samples say nothing.
    share: fresh ? 1 : best ? 2.5 : 1.5,
    ...(fresh ? { memory: 1024 * MiB } : {}),
    contenders: [commands.javascript('toFloat32Array', 'ours', 'convert', ours), ...inC, ...(best ? others : [])],
    goals: [
      goal('C', kernels, 0.9, best && !fresh),
      ...(best
        ? [
            goal('torch', torch, 1, dtype === 'BF16' && !fresh),
            goal('JavaScript', 'JavaScript loop', dtype === 'F16' && !fresh ? 3 : 1),
          ]
        : []),
    ],
  };
}

/** @param {import('../harness/run-case.mjs').Context} context */
export async function* races(context) {
  const { workspace, quick, faults } = context;
  // Larger than any cache, as is what comes out of it. Into fresh memory it is the memory that takes the time, whatever the
  // dtype and however much.
  const bytesOf = (/** @type {keyof BYTES} */ dtype) => (quick ? 8 : 32) * BYTES[dtype] * MiB;
  const sets = instructionSets();
  for (const dtype of /** @type {(keyof BYTES)[]} */ (Object.keys(BYTES))) {
    const wanted = [{ name: 'w', dtype, shape: [bytesOf(dtype) / BYTES[dtype] / 1024, 1024] }];
    const made = makeFile(workspace.path(`${dtype}.safetensors`), wanted);
    const state = await faults(made.path);
    for (const fresh of quick || dtype !== 'BF16' ? [false] : [false, true]) {
      for (const set of quick || fresh ? sets.slice(0, 1) : sets) {
        yield { ...race(context, { made, dtype, fresh, set, best: set === sets[0] }), state };
      }
    }
  }
  // Apart: it takes a thousand times as long.
  const made = makeFile(workspace.path('package.safetensors'), [{ name: 'w', dtype: 'F16', shape: [512, 1024] }]);
  const { begin, end } = tensorOf(made, 0);
  const args = { rounds: 5, warm: 2 };
  yield {
    key: 'F16-package',
    title: 'F16, a reused target, 2 MiB of output',
    unit: /** @type {const} */ ('ns'),
    bytes: 2 * (end - begin),
    contenders: [
      context.commands.javascript('toFloat32Array', 'ours', 'convert', { path: made.path, name: 'w', ...args }),
      context.commands.peer('@petamoriken/float16', 'convert', { path: made.path, begin, end, ...args }),
    ],
  };
}

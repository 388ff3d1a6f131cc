// Owns case 8: small floats to float32, from a mapped file into reused and into fresh memory, on one thread.
// Refuses to choose the C contender: stores that are cached and that stream are two.
import { readFileSync } from 'node:fs';
import { arch } from 'node:os';

import { makeFile } from '../harness/files.mjs';

export const number = 8;
export const title = 'Conversion to float32';

const MiB = 2 ** 20;
const BYTES = { BF16: 2, F16: 2, F8_E4M3: 1 };

/** The instruction sets of this processor for which the C program has kernels, the best one first. */
function instructionSets() {
  if (arch() === 'arm64') return ['neon'];
  const flags = readFileSync('/proc/cpuinfo', 'utf8');
  return [
    ...(/\bavx512bw\b/.test(flags) && /\bavx512vl\b/.test(flags) ? ['avx512'] : []),
    ...(/\bavx2\b/.test(flags) && /\bf16c\b/.test(flags) ? ['avx2'] : []),
  ];
}

/** @param {import('../harness/run-case.mjs').Context} context */
export async function* races({ commands, workspace, quick, faults }) {
  const size = (quick ? 32 : 64) * MiB;
  const dtypes = /** @type {('BF16' | 'F16' | 'F8_E4M3')[]} */ (Object.keys(BYTES));
  const sets = instructionSets();
  for (const dtype of dtypes) {
    const elements = size / BYTES[dtype];
    const wanted = [{ name: 'w', dtype, shape: [elements / 1024, 1024] }];
    const { path, tensors } = makeFile(workspace.path(`${dtype}.safetensors`), wanted);
    const [{ begin, end }] = tensors;
    const rounds = 9;
    const state = await faults(path);
    for (const fresh of [false, true]) {
      for (const set of fresh ? sets.slice(0, 1) : sets) {
        const best = set === sets[0];
        const loop = { dtype, path, begin, end, fresh, rounds, warm: 3 };
        const preferred = [`C, ${set}`, `C, ${set}, streaming`];
        const kernels = preferred.map((name, streaming) =>
          commands.limit(
            name,
            'convert',
            path,
            begin,
            elements,
            dtype,
            set,
            streaming,
            rounds,
            ...(fresh ? ['fresh'] : []),
          ),
        );
        const others = [
          commands.javascript('JavaScript loop', 'loops', 'convert', loop),
          ...(dtype === 'F16'
            ? [commands.javascript('@petamoriken/float16', 'loops', 'float16', { ...loop, rounds: 1, warm: 1 })]
            : []),
          commands.python(fresh ? 'torch .float()' : 'torch copy_', 'convert', {
            path,
            name: 'w',
            fresh,
            framework: 'torch',
          }),
          ...(fresh ? [] : [commands.limit('memcpy', 'copy-memory', elements * 4, rounds)]),
        ];
        const torch = fresh ? 'torch .float()' : 'torch copy_';
        const where = `${dtype}, ${fresh ? 'fresh memory' : 'a reused target'}, ${set}`;
        const against = (name, atLeast) => ({
          text: `${where}: speed in parts of ${name}`,
          subject: 'toFloat32Array',
          rate: true,
          atLeast,
        });
        yield {
          key: `${dtype}-${fresh ? 'fresh' : 'reused'}-${set}`,
          title: `${where}, ${(elements * 4) / MiB} MiB of output`,
          unit: 'ns',
          bytes: elements * 4,
          state,
          contenders: [
            commands.javascript('toFloat32Array', 'ours', 'convert', {
              path,
              name: 'w',
              fresh,
              kernel: set,
              rounds,
              warm: 3,
            }),
            ...kernels,
            ...(best ? others : []),
          ],
          goals: [
            { ...against('C', 0.9), against: preferred, headline: best && !fresh },
            ...(best
              ? [
                  { ...against('torch', 1), against: torch, headline: dtype === 'BF16' && !fresh },
                  { ...against('JavaScript', 1), against: 'JavaScript loop' },
                ]
              : []),
          ],
        };
      }
    }
  }
}

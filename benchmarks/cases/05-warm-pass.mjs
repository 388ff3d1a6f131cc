// Owns case 5: every cache line of a file that is in memory, from opening to closing, in two states of the page cache.
// Refuses arithmetic: one word of each line is added up, so that what is compared is loading and not loops.
import { rmSync } from 'node:fs';

import { equalTensors, makeFile } from '../harness/files.mjs';

export const number = 5;
export const title = 'A full pass, warm';

const MiB = 2 ** 20;
const STEP = 64;

/** @param {import('../harness/run-case.mjs').Context} context */
export async function* races({ commands, workspace, quick, faults, prepare }) {
  const size = (quick ? 128 : 512) * MiB;
  const tensors = equalTensors(size / (16 * MiB), 16 * MiB);
  const long = (quick ? 512 : 4096) * MiB;
  const whole = makeFile(workspace.path('long.safetensors'), equalTensors(long / (16 * MiB), 16 * MiB));
  // Long enough that what the first file of a process costs, milliseconds, is no part of it. Nothing copies so much here.
  yield {
    key: 'long',
    title: `${long / MiB} MiB, written in pieces of 4 MiB`,
    unit: 'ns',
    bytes: long,
    state: await faults(whole.path),
    contenders: [
      commands.javascript('mmap', 'ours', 'pass', { paths: [whole.path], step: STEP }),
      commands.javascript('fs.read into reused memory', 'reading', 'pass', {
        path: whole.path,
        step: STEP,
        into: 'reused',
      }),
      commands.python('Python numpy', 'pass', { path: whole.path, step: STEP }),
      commands.limit('C map and sum', 'pass', whole.path, whole.dataOffset, STEP),
    ],
    goals: [
      {
        text: `a warm pass over ${long / MiB} MiB, in parts of C map and sum`,
        subject: 'mmap',
        against: 'C map and sum',
        atMost: 1.1,
        headline: true,
      },
    ],
  };
  rmSync(whole.path);
  for (const [state, piece] of /** @type {const} */ ([
    ['4 MiB', 4 * MiB],
    ['64 KiB', 64 * 1024],
  ])) {
    const { path, dataOffset } = makeFile(workspace.path('warm.safetensors'), tensors, { piece });
    const large = piece > MiB;
    const pickle = workspace.path('warm.pt');
    const made =
      large && !quick
        ? await prepare(commands.python('torch.save', 'makePickle', { from: path, to: pickle, framework: 'torch' }))
        : undefined;
    const args = { path, step: STEP };
    const both = [
      commands.javascript('mmap', 'ours', 'pass', { paths: [path], step: STEP }),
      { ...commands.javascript('read', 'ours', 'pass', { paths: [path], step: STEP, backend: 'read' }), rounds: 1 },
      commands.javascript('fs.read into fresh memory', 'reading', 'pass', { ...args, into: 'fresh' }),
      commands.javascript('fs.read into reused memory', 'reading', 'pass', { ...args, into: 'reused' }),
      commands.python('Python numpy', 'pass', args),
      commands.limit('C map and sum', 'pass', path, dataOffset, STEP),
    ];
    const notQuick = quick ? { skipped: 'not in a quick run: it takes seconds to start' } : {};
    const torch = { path: pickle, step: STEP, framework: 'torch' };
    const skipped = made?.ok === false ? { skipped: made.error } : notQuick;
    const once = (/** @type {import('../harness/commands.mjs').Contender} */ contender) => ({
      ...contender,
      rounds: 1,
    });
    // Seconds each, most of them for memory that the system has to find.
    const more = [
      commands.javascript('fs.readFile', 'reading', 'pass', { ...args, into: 'whole' }),
      commands.peer('safetensors', 'pass', args),
      commands.peer('@jax-js/loaders', 'pass', args),
      commands.peer('@ruvector/ruvllm', 'pass', args),
      { ...commands.python('Python torch', 'pass', { ...args, framework: 'torch' }), ...notQuick },
      { ...commands.python('pickle: torch.load', 'pickle', torch), ...skipped },
    ];
    yield {
      key: `lines-${piece}`,
      title: `${size / MiB} MiB, written in pieces of ${state}`,
      unit: 'ns',
      bytes: size,
      state: await faults(path),
      share: large ? 3 : 1,
      contenders: large ? [...both, ...more.map(once)] : both,
      goals: [
        {
          text: `a warm pass, ${state} writes, times as fast as fs.read into fresh memory`,
          subject: 'mmap',
          against: 'fs.read into fresh memory',
          rate: true,
          atLeast: 10,
          headline: large,
        },
        ...(large
          ? [
              {
                text: 'a warm pass, times as fast as torch.load of a pickle',
                subject: 'mmap',
                against: 'pickle: torch.load',
                rate: true,
                atLeast: 1,
                headline: true,
              },
            ]
          : [
              {
                text: `a warm pass, ${state} writes, in parts of C map and sum`,
                subject: 'mmap',
                against: 'C map and sum',
                atMost: 1.1,
              },
            ]),
      ],
    };
    if (large) {
      yield {
        key: 'words',
        share: 0.6,
        title: `The same with every word added up: the loop in JavaScript counts`,
        unit: 'ns',
        bytes: size,
        contenders: [
          commands.javascript('mmap', 'ours', 'pass', { paths: [path], step: 4 }),
          commands.javascript('fs.read into reused memory', 'reading', 'pass', { path, step: 4, into: 'reused' }),
          commands.python('Python numpy', 'pass', { path, step: 4 }),
          commands.limit('C map and sum', 'pass', path, dataOffset, 4),
        ],
      };
    }
  }
}

// Owns case 4: a view of every tensor of a file that has many, in memory.
// Refuses copies on our side: a view that is one fails the sample.
import { equalTensors, makeFile } from '../harness/files.mjs';

export const number = 4;
export const title = 'Views of all of 18,432 tensors';

const COUNT = 18_432;

/** @param {import('../harness/run-case.mjs').Context} context */
export async function* races({ commands, workspace, quick, faults }) {
  const { path } = makeFile(workspace.path('many.safetensors'), equalTensors(COUNT, 4096));
  const inside = { rounds: 21, warm: 5 };
  const state = await faults(path);
  yield {
    key: 'a-view',
    title: 'One view, without opening',
    unit: 'ns',
    state,
    contenders: [
      commands.javascript('in a walk', 'ours', 'views', { path, how: 'walk', only: true, ...inside }),
      commands.javascript('by name', 'ours', 'views', { path, how: 'name', only: true, ...inside }),
    ],
    goals: [
      { text: 'a view in a walk, in ns', subject: 'in a walk', atMost: 500 },
      { text: 'a view by name, in ns', subject: 'by name', atMost: 500, headline: true },
    ],
  };
  const few = quick ? { rounds: 1, warm: 1 } : { rounds: 5, warm: 2, collect: true };
  yield {
    key: 'all',
    title: 'From opening to closing, with the first word of each',
    unit: 'ns',
    state,
    contenders: [
      commands.javascript('in a walk', 'ours', 'views', { path, how: 'walk', ...inside }),
      commands.javascript('by name', 'ours', 'views', { path, how: 'name', ...inside }),
      commands.javascript('fs.read per tensor', 'reading', 'views', { path, ...few }),
      commands.peer('safetensors', 'views', { path, ...few }),
      commands.peer('@jax-js/loaders', 'views', { path, ...few }),
      commands.peer('@ruvector/ruvllm', 'views', { path, ...few }),
      commands.python('Python numpy', 'views', { path, rounds: quick ? 1 : 3 }),
    ],
    goals: [
      {
        text: 'all views, times as fast as Python',
        subject: 'by name',
        against: 'Python numpy',
        rate: true,
        atLeast: 1,
      },
    ],
  };
}

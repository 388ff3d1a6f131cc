// Owns case 10: how long the event loop stands still when a large mapping ends, with the page cache in small pieces.
// Refuses to blame the machine silently: a process that does nothing is measured beside it.
import { equalTensors, makeFile } from '../harness/files.mjs';

export const number = 10;
export const title = 'Close and collection of a large file';

const MiB = 2 ** 20;

/** @param {import('../harness/run-case.mjs').Context} context */
export async function* races({ commands, workspace, quick, faults }) {
  const size = (quick ? 512 : 8192) * MiB;
  const { path } = makeFile(workspace.path('small-folios.safetensors'), equalTensors(size / (16 * MiB), 16 * MiB), {
    piece: 64 * 1024,
  });
  const state = await faults(path);
  yield {
    key: 'release',
    title: `Longest delay of the event loop, ${size / MiB} MiB written in pieces of 64 KiB`,
    unit: 'ms',
    state,
    share: 3,
    contenders: [
      commands.javascript('close()', 'pauses', 'release', { path, how: 'close' }),
      commands.javascript('dropped and collected', 'pauses', 'release', { path, how: 'collect' }),
      commands.javascript('nothing', 'pauses', 'idle', { ms: 200 }),
    ],
    goals: [
      { text: 'longest delay of the event loop at close(), in ms', subject: 'close()', atMost: 5, headline: true },
      { text: 'longest delay when a dropped file is collected, in ms', subject: 'dropped and collected', atMost: 5 },
    ],
  };
  yield {
    key: 'munmap',
    title: 'The same in C: munmap of all of it',
    unit: 'ns',
    state,
    contenders: [commands.limit('C munmap', 'unmap', path)],
  };
}

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
    share: 2,
    contenders: [
      commands.javascript('close()', 'pauses', 'release', { path, how: 'close' }),
      commands.javascript('dropped and collected', 'pauses', 'release', { path, how: 'collect' }),
      commands.javascript('nothing', 'pauses', 'idle', { ms: 200 }),
    ],
    goals: [
      { text: 'longest delay of the event loop at close(), in ms', subject: 'close()', atMost: 5, headline: true },
      { text: 'longest delay when a dropped file is collected, in ms', subject: 'dropped and collected', atMost: 5 },
      { text: 'until its memory is back after close(), in ms', subject: 'close()', field: 'given', atMost: 1000 },
      {
        text: 'until its memory is back after its collection, in ms',
        subject: 'dropped and collected',
        field: 'given',
        atMost: 1000,
      },
    ],
  };
  yield {
    key: 'munmap',
    title: 'The same in C: munmap of all of it',
    unit: 'ns',
    rounds: 1,
    fewer: 'each sample touches the whole file',
    state,
    contenders: [commands.limit('C munmap', 'unmap', path)],
  };
  if (quick) return;
  const hole = makeFile(workspace.path('hole.safetensors'), equalTensors(1024, 16 * MiB), { sparse: true });
  yield {
    key: 'allocating',
    title: 'A loop that allocates, beside 16 GiB that are mapped and viewed',
    unit: 'ns',
    contenders: [
      commands.javascript('16 GiB mapped', 'pauses', 'allocate', { path: hole.path, mapped: true }),
      commands.javascript('nothing mapped', 'pauses', 'allocate', { path: hole.path, mapped: false }),
    ],
    goals: [
      {
        text: 'an allocating loop beside 16 GiB of views, in parts of one without',
        subject: '16 GiB mapped',
        against: 'nothing mapped',
        atMost: 1.1,
      },
    ],
  };
}

// Owns case 6: everything of a file that is not in memory, from opening until it is; a word of each page is added up, by
// "prefetch" after the clock, since it is done when the data is there, by the others as they go.
// Refuses a file that is partly cached: each sample begins with a proof that nothing is.
import { equalTensors, makeFile } from '../harness/files.mjs';

export const number = 6;
export const title = 'A full load, cold';

const MiB = 2 ** 20;
const STEP = 4096;
const THREADS = [1, 2, 4];

/** @param {import('../harness/run-case.mjs').Context} context */
export async function* races({ commands, workspace, quick, evict }) {
  const size = (quick ? 256 : 1024) * MiB;
  const { path, dataOffset } = makeFile(workspace.path('cold.safetensors'), equalTensors(size / (16 * MiB), 16 * MiB));
  const pread = (/** @type {number} */ threads) => `C pread × ${threads}`;
  yield {
    key: 'cold',
    title: `${size / MiB} MiB`,
    unit: 'ns',
    bytes: size,
    share: quick ? 2 : 4,
    before: () => evict([path]),
    contenders: [
      commands.javascript('prefetch', 'ours', 'load', { path, step: STEP }),
      commands.javascript('prefetch, then touched', 'ours', 'pass', { paths: [path], step: STEP, prefetch: true }),
      commands.javascript('mmap, touched', 'ours', 'pass', { paths: [path], step: STEP }),
      ...THREADS.map((concurrent) =>
        commands.javascript(`fs.read 1 MiB × ${concurrent}`, 'reading', 'pieces', {
          path,
          step: STEP,
          piece: MiB,
          concurrent,
        }),
      ),
      commands.python('Python numpy', 'pass', { path, step: STEP }),
      commands.limit('C map and touch', 'pass', path, dataOffset, STEP),
      ...THREADS.map((threads) => commands.limit(pread(threads), 'read', path, dataOffset, STEP, MiB, threads)),
    ],
    goals: [
      {
        text: 'a cold load with prefetch, speed in parts of the best C pread',
        subject: 'prefetch',
        against: THREADS.map(pread),
        rate: true,
        atLeast: 0.95,
        headline: true,
      },
      { text: 'longest delay of the event loop during it, in ms', subject: 'prefetch', field: 'longest', atMost: 5 },
    ],
  };
}

// Owns case 6: everything of a file that is not in memory, from opening until it is; a word of each page is added up, by
// "prefetch" after the clock, since it is done when the data is there, by the others as they go.
// Refuses a file that is partly cached: each sample begins with a proof that nothing is.
import { equalTensors, makeFile } from '../harness/files.mjs';

export const number = 6;
export const title = 'A full load, cold';

const MiB = 2 ** 20;
const STEP = 4096;
const THREADS = [1, 2, 4];

/** @param {number} threads */
const pread = (threads) => `C pread × ${threads}`;

const fast = {
  text: 'a cold load with prefetch, speed in parts of the best C pread',
  subject: 'prefetch',
  against: THREADS.map(pread),
  rate: true,
  atLeast: 0.95,
};
const smooth = {
  text: 'longest delay of the event loop during it, in ms',
  subject: 'prefetch',
  field: 'longest',
  atMost: 5,
};

/** @param {import('../harness/run-case.mjs').Context} context */
export async function* races({ commands, workspace, quick, evict, faults }) {
  const file = (/** @type {string} */ name, /** @type {number} */ size) =>
    makeFile(workspace.path(name), equalTensors(size / (16 * MiB), 16 * MiB));
  const size = (quick ? 256 : 1024) * MiB;
  const cold = file('cold.safetensors', size);
  const { path, dataOffset } = cold;
  const reads = (/** @type {import('../harness/files.mjs').Made} */ made) =>
    THREADS.map((threads) => commands.limit(pread(threads), 'read', made.path, made.dataOffset, STEP, MiB, threads));
  yield {
    key: 'cold',
    title: `${size / MiB} MiB`,
    unit: 'ns',
    bytes: size,
    share: quick ? 2 : 4,
    memory: size * 1.5,
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
      ...reads(cold),
    ],
    goals: [{ ...fast, headline: true }, smooth],
  };
  if (quick) return;
  const long = 4096 * MiB;
  const made = file('long.safetensors', long);
  yield {
    key: 'cold-long',
    title: `${long / MiB} MiB`,
    unit: 'ns',
    bytes: long,
    share: 3,
    memory: long * 1.25,
    before: () => evict([made.path]),
    after: async (/** @type {string} */ contender) => {
      if (contender !== 'prefetch') return undefined;
      const { faultsPerGiB } = await faults(made.path);
      return faultsPerGiB === undefined ? undefined : { faultsPerGiB };
    },
    contenders: [commands.javascript('prefetch', 'ours', 'load', { path: made.path, step: STEP }), ...reads(made)],
    goals: [
      { ...fast, text: `${long / MiB} MiB: ${fast.text}` },
      { ...smooth, text: `${long / MiB} MiB: ${smooth.text}` },
      {
        text: `${long / MiB} MiB: faults for each GiB of whoever maps it next`,
        subject: 'prefetch',
        field: 'faultsPerGiB',
        atMost: 600,
      },
    ],
  };
}

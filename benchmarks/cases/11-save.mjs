// Owns case 11: writing a large file that is on the disk afterwards, and the pages that it is left in.
// Refuses to measure the host: as much memory as is going to be needed is there before each sample.
import { closeSync, openSync, readSync, rmSync } from 'node:fs';

import { equalTensors, makeFile } from '../harness/files.mjs';

export const number = 11;
export const title = 'Saving';

const MiB = 2 ** 20;
/** Writes no tensors: the limit of the disk. */
const MEMORY = 'C write from memory, fsync';

/** @param {string} path */
function dataOffsetOf(path) {
  const prefix = Buffer.alloc(8);
  const descriptor = openSync(path, 'r');
  readSync(descriptor, prefix, 0, 8, 0);
  closeSync(descriptor);
  return 8 + Number(prefix.readBigUInt64LE());
}

/** @param {import('../harness/run-case.mjs').Context} context */
export async function* races({ commands, workspace, quick, faults, prepare }) {
  const size = (quick ? 256 : 4096) * MiB;
  const { path: from, byteLength } = makeFile(
    workspace.path('source.safetensors'),
    equalTensors(size / (32 * MiB), 32 * MiB),
  );
  // Writers may put tensors in another order; the sum of the same words does not mind.
  const sumOf = async (/** @type {string} */ path) => {
    const outcome = await prepare(commands.limit('sum', 'pass', path, dataOffsetOf(path), 4096));
    return outcome.ok ? JSON.parse(outcome.text).checksum : undefined;
  };
  const expected = await sumOf(from);
  const to = workspace.path('saved.safetensors');
  yield {
    key: 'save',
    title: `${size / MiB} MiB, flushed to the disk`,
    unit: 'ns',
    bytes: size,
    rounds: 3,
    fewer: 'each sample writes the whole file to the disk',
    memory: size * 1.25,
    before: async () => rmSync(to, { force: true }),
    after: async (/** @type {string} */ contender) => {
      const state = await faults(to);
      if (contender !== MEMORY && (await sumOf(to)) !== expected)
        throw new Error('a wrong answer: other data was saved');
      return state.faultsPerGiB === undefined ? undefined : { faultsPerGiB: state.faultsPerGiB };
    },
    contenders: [
      commands.javascript('save()', 'ours', 'saveCopy', { from, to }),
      { ...commands.limit(MEMORY, 'write-file', to, byteLength), rounds: 1 },
      commands.javascript('cp and fsync', 'copying', 'copy', { from, to }),
    ],
    goals: [
      {
        text: 'save(), speed in parts of cp and fsync',
        subject: 'save()',
        against: 'cp and fsync',
        rate: true,
        atLeast: 0.9,
        headline: true,
      },
      {
        text: 'faults for each GiB on reopening what was saved',
        subject: 'save()',
        field: 'faultsPerGiB',
        atMost: 600,
        headline: true,
      },
    ],
  };
  if (quick) return;
  // Python takes ten times as long, so of an eighth: a factor, not a race.
  const eighth = size / 8;
  const part = makeFile(workspace.path('part.safetensors'), equalTensors(eighth / (32 * MiB), 32 * MiB)).path;
  yield {
    key: 'save-python',
    title: `${eighth / MiB} MiB, flushed to the disk, beside Python`,
    unit: 'ns',
    bytes: eighth,
    rounds: 2,
    fewer: 'once is enough for a factor',
    memory: eighth * 1.5,
    before: async () => rmSync(to, { force: true }),
    contenders: [
      commands.javascript('save()', 'ours', 'saveCopy', { from: part, to }),
      commands.python('Python load_file, save_file, fsync', 'save', { from: part, to }),
    ],
  };
}

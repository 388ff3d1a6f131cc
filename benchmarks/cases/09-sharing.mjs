// Owns case 9: what 1, 2, 4 and 8 processes that use the same model take of the memory.
// Refuses clocks: pages are counted, so one sample is enough.
import { equalTensors, makeFile } from '../harness/files.mjs';
import { makeModel } from './02-first-tensor.mjs';

export const number = 9;
export const title = 'Processes that share a model';

const MiB = 2 ** 20;

/** @param {import('../harness/run-case.mjs').Context} context */
export async function* races({ commands, workspace, quick, linux }) {
  const size = (quick ? 512 : 8192) * MiB;
  const model = makeModel(workspace, 'model', size);
  const paths = model.shards.map(({ path }) => path);
  const small = (quick ? 64 : 256) * MiB;
  const other = makeFile(workspace.path('small.safetensors'), equalTensors(small / (16 * MiB), 16 * MiB));
  for (const count of quick ? [1, 8] : [1, 2, 4, 8]) {
    const mapped = { paths, size, count, how: 'mmap' };
    const read = { paths: [other.path], size: small, count, how: 'read' };
    const contender = (/** @type {string} */ name, /** @type {import('../harness/commands.mjs').Arguments} */ args) =>
      linux ? commands.javascript(name, 'sharing', 'share', args) : { name, skipped: 'needs /proc/PID/smaps_rollup' };
    const plural = count === 1 ? '1 process' : `${count} processes`;
    yield {
      key: `processes-${count}`,
      title: `${plural}: memory of each, in parts of size / ${count}`,
      unit: 'ratio',
      rounds: 1,
      fewer: 'counts, not times',
      different: true,
      contenders: [contender(`mmap, ${size / MiB} MiB`, mapped), contender(`fs.read, ${small / MiB} MiB`, read)],
      goals: [
        {
          text: `Pss of ${plural}, in parts of size / ${count}`,
          subject: `mmap, ${size / MiB} MiB`,
          atMost: 1.02,
          headline: count === 8,
        },
        {
          text: `private memory more with ${plural}, in MiB`,
          subject: `mmap, ${size / MiB} MiB`,
          field: 'dirtyMiB',
          atMost: 2,
        },
      ],
    };
  }
}

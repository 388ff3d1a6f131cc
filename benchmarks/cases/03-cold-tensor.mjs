// Owns case 3: one small tensor in the middle of a file that is not in memory.
// Refuses cold code: each process has opened another, small file a hundred times before.
import { equalTensors, makeFile, tensorOf } from '../harness/files.mjs';

export const number = 3;
export const title = 'One small cold tensor';

const MiB = 2 ** 20;

/** @param {import('../harness/run-case.mjs').Context} context */
export async function* races({ commands, workspace, quick, evict }) {
  const size = (quick ? 256 : 1024) * MiB;
  const each = 64 * 1024;
  // A header as short as a shard's: what is measured is the tensor.
  const around = (/** @type {number} */ length) => [
    ...equalTensors(16, length / 32, 'model.before'),
    ...equalTensors(1, each, 'model.norms'),
    ...equalTensors(16, length / 32, 'model.after'),
  ];
  const made = makeFile(workspace.path('cold.safetensors'), around(size));
  const warm = makeFile(workspace.path('warm.safetensors'), around(2 * MiB));
  const { name, begin } = tensorOf(made, 16);
  const args = { path: made.path, name, warm: warm.path, warmName: tensorOf(warm, 16).name };
  const goal = (/** @type {string} */ subject) => ({
    text: `a cold tensor of 64 KiB, ${subject}, in parts of C pread`,
    subject,
    against: 'C pread',
    atMost: 1.3,
  });
  yield {
    key: 'cold',
    title: '64 KiB in the middle of a cold file',
    unit: 'ns',
    before: () => evict([made.path]),
    contenders: [
      commands.javascript('mmap', 'ours', 'oneTensor', { ...args, backend: 'mmap' }),
      commands.javascript('mmap, prefetch', 'ours', 'oneTensor', { ...args, backend: 'mmap', prefetch: true }),
      commands.javascript('read', 'ours', 'oneTensor', { ...args, backend: 'read' }),
      commands.javascript('fs.read of its range', 'reading', 'oneTensor', args),
      commands.python('Python safe_open', 'oneTensor', { path: made.path, name }),
      commands.limit('C pread', 'one-tensor', made.path, made.headerLength, begin, each),
    ],
    goals: [goal('read'), goal('mmap'), goal('mmap, prefetch')],
  };
}

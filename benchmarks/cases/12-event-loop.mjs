// Owns case 12: how late the event loop of a server is while it loads cold tensors or converts, and how soon it may stop.
// Refuses totals: a load that is fast and blocks is a bad neighbour.
import { equalTensors, makeFile } from '../harness/files.mjs';

export const number = 12;
export const title = 'The event loop of a server';

const MiB = 2 ** 20;

/** @param {import('../harness/run-case.mjs').Context} context */
export async function* races({ commands, workspace, quick, evict }) {
  const size = (quick ? 128 : 512) * MiB;
  const cold = makeFile(workspace.path('cold.safetensors'), equalTensors(size / (16 * MiB), 16 * MiB));
  yield {
    key: 'loading',
    title: `99th hundredth of the delays while ${size / MiB} MiB of cold tensors are loaded one by one`,
    unit: 'ms',
    before: () => evict([cold.path]),
    contenders: [
      commands.javascript('prefetch', 'pauses', 'serve', { path: cold.path, how: 'prefetch' }),
      commands.javascript('mmap, touched', 'pauses', 'serve', { path: cold.path, how: 'lazy' }),
      commands.javascript('fs.promises.read', 'pauses', 'serve', { path: cold.path, how: 'read' }),
    ],
    goals: [
      { text: 'p99 delay of the event loop with prefetch, in ms', subject: 'prefetch', atMost: 5, headline: true },
    ],
  };
  const elements = ((quick ? 128 : 512) * MiB) / 4;
  const wanted = [{ name: 'w', dtype: /** @type {const} */ ('BF16'), shape: [elements / 16384, 16384] }];
  const { path } = makeFile(workspace.path('bf16.safetensors'), wanted);
  const args = { path, name: 'w' };
  yield {
    key: 'converting',
    title: `Longest delay while toFloat32 makes ${(elements * 4) / MiB} MiB`,
    unit: 'ms',
    contenders: [
      commands.javascript('a reused target', 'pauses', 'convert', { ...args, threads: 1 }),
      commands.javascript('a reused target, 2 threads', 'pauses', 'convert', { ...args, threads: 2 }),
      commands.javascript('fresh memory', 'pauses', 'convert', { ...args, threads: 1, fresh: true }),
      commands.javascript('nothing', 'pauses', 'idle', { ms: 300 }),
    ],
    goals: [
      { text: 'longest delay during toFloat32, in ms', subject: 'a reused target', atMost: 5, headline: true },
      { text: 'longest delay during toFloat32 into fresh memory, in ms', subject: 'fresh memory', atMost: 5 },
    ],
  };
  yield {
    key: 'abort',
    title: 'From an abort of toFloat32 to its rejection',
    unit: 'ms',
    contenders: [commands.javascript('abort', 'pauses', 'abort', args)],
    goals: [{ text: 'an abort of toFloat32 rejects, in ms', subject: 'abort', atMost: 50 }],
  };
}

// Owns what many rounds leave behind, which is nothing: no mapping, no descriptor, no memory. Ten times as many rounds with
// SAFETENSORS_MMAP_LONG=1. Refuses single rounds; mapping.test.ts takes those apart.

import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { run, SANITIZED, temporaryFolder } from './child.js';
import { floats, writeSparse } from './files.js';

const folder = temporaryFolder();
const small = join(folder, 'small.safetensors');
const large = join(folder, 'large.safetensors');
const MiB = 2 ** 20;
// Under the sanitizers a round takes twenty times as long.
const LONG = process.env.SAFETENSORS_MMAP_LONG === '1' ? 10 : SANITIZED ? 0.1 : 1;

const long = join(folder, 'long.safetensors');

beforeAll(() => {
  writeSparse(small, floats(4, 1024));
  writeSparse(large, floats(4, MiB));
  writeSparse(long, floats(64, 2 * MiB));
});

/**
 * Runs rounds in a child, and reports [mappings, their number by the system, descriptors more, MiB more in a batch]. Memory is
 * measured after each of four equal batches: the collector's own memory grows in one or the other, a leak in every one.
 */
async function left(path: string, round: string, rounds: number): Promise<number[]> {
  const source = `
    const round = async () => { ${round} };
    const settle = async () => {
      await collect();
      await until(() => liveMappings() === 0);
      // What the allocator keeps for itself comes and goes.
      await collect();
    };
    const rounds = ${Math.ceil(rounds / 4)};
    for (let i = 0; i < rounds; i++) await round();
    await settle();
    const before = descriptors();
    let memory = statusBytes('VmRSS');
    let grown = Infinity;
    for (let batch = 0; batch < 4; batch++) {
      for (let i = 0; i < rounds; i++) { await round(); if (i % 50 === 0) await turn(); }
      await settle();
      const now = statusBytes('VmRSS');
      grown = Math.min(grown, (now - memory) / 2 ** 20);
      memory = now;
    }
    report([liveMappings(), maps('.safetensors'), descriptors() - before, grown]);`;
  const ended = await run(source, path, {}, [], 50_000 * Math.max(1, LONG));
  expect(ended).toMatchObject({ code: 0, signal: null, stderr: '' });
  return ended.reported[0] as number[];
}

const OPEN_CLOSE = `const file = st.openSync(path); file.tensor('t0').data[0]; file.close();`;
const OPEN_CLOSE_ASYNC = `const file = await st.open(path); file.close(); const read = await st.open(path, { backend: 'read' }); read.tensor('t1').slice([0, 8]).data; read.close();`;
const VIEW_DROP = `{ const file = st.openSync(path); for (const { data } of file.values()) for (let i = 0; i < data.length; i += 4096) data[i]; } gc(); await turn();`;

describe.runIf(process.platform === 'linux')('nothing is left by', () => {
  it.each([
    ['opening, viewing and closing a small file', small, OPEN_CLOSE, 1000],
    ['opening, viewing and closing a large one', large, OPEN_CLOSE, 1000],
    ['opening off the event loop, to map and to read', small, OPEN_CLOSE_ASYNC, 500],
    ['opening, viewing everything, dropping and collecting', large, VIEW_DROP, 100],
  ])(
    '%s, over and over',
    async (_, path, round, rounds) => {
      const [alive, mapped, opened, grown] = await left(path, round, rounds * LONG);
      if (LONG > 1) console.log(`${rounds * LONG} rounds: ${alive} ${mapped} ${opened} ${grown} MiB`);
      expect([alive, mapped, opened]).toEqual([0, 0, 0]);
      // Less than a page a round, where there are enough rounds to tell. The sanitizer keeps what was freed.
      if (!SANITIZED) expect(grown).toBeLessThan(Math.max(1, ((rounds * LONG) / 4) * (4096 / MiB)));
    },
    60_000 * Math.max(1, LONG),
  );
});

it('a loop over all tensors of a file that is read holds one at a time, though it is a single job', async () => {
  const source = `
    const file = st.openSync(path, { backend: 'read' });
    let most = 0;
    let same = 0;
    for (const name of file.keys()) {
      const { data } = file.tensor(name);
      data[0] = 7;
      // Whoever asks meanwhile has the same memory.
      same += file.tensor(name).data[0] === 7 && file.tensor(name).data.buffer === data.buffer ? 1 : 0;
      most = Math.max(most, process.memoryUsage().arrayBuffers);
    }
    file.close();
    report([same, most]);`;
  const ended = await run(source, long);
  expect(ended).toMatchObject({ code: 0, signal: null, stderr: '' });
  const [same, most] = ended.reported[0] as [number, number];
  expect(same).toBe(64);
  // Of 512 MiB; the collector comes when some tens of them wait.
  expect(most).toBeLessThan(256 * MiB);
});

it('what a worker that is terminated was holding of a file that is read ends with it', async () => {
  const source = `
    const loop = "const file = st.openSync(path, { backend: 'read' }); for (;;) for (const { data } of file.values()) { data[0]; parentPort.postMessage(1); }";
    for (let i = 0; i < 4; i++) {
      const worker = inWorker(loop);
      await new Promise((resolve) => worker.once('message', resolve));
      await sleep(20);
      await worker.terminate();
    }
    report('done');`;
  expect(await run(source, small)).toMatchObject({ code: 0, signal: null, stderr: '', reported: ['done'] });
});

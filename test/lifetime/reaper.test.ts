// Owns the unmapping of large files by a thread of its own: that it is not this one, that nothing is left, that neither
// the end of a worker nor that of the process minds. Refuses to time it; benchmarks do.

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { run, SANITIZED, temporaryFolder } from './child.js';
import { floats, writeSparse } from './files.js';

const folder = temporaryFolder();
const path = join(folder, 'large.safetensors');
const MiB = 2 ** 20;
const linux = process.platform === 'linux';

beforeAll(() => writeSparse(path, floats(4, 4 * MiB)));

// A written page is the process's own, always 4 KiB, and takes long to give back: 64 MiB of them several milliseconds.
const PRELUDE = `
  const SIZE = 64 * 2 ** 20;
  const mine = () => statusBytes('RssAnon');
  const dirty = (file) => { for (const tensor of file.values()) for (let i = 0; i < tensor.length; i += 1024) tensor.data[i] = 1; };
  const openDirty = () => { const file = st.openSync(path); dirty(file); return file; };
`;

async function reported(source: string): Promise<unknown[]> {
  const ended = await run(PRELUDE + source, path);
  expect(ended).toMatchObject({ code: 0, signal: null, stderr: '' });
  return ended.reported;
}

describe.runIf(linux)('a large mapping', () => {
  it('is given back by another thread, after close() has returned; then both are gone', async () => {
    const source = `
      const before = threadCount();
      let seen = false;
      // The other thread may have done it all before this one looks, if the machine is busy; not always.
      for (let round = 0; round < 20 && !seen; round++) {
        const file = openDirty();
        const full = mine();
        file.close();
        seen = mine() > full - SIZE / 2;
        await until(() => mine() < full - SIZE * 0.9);
        await collect();
        await until(() => liveMappings() === 0);
      }
      await until(() => threadCount() <= before);
      report([seen, maps('large.safetensors')]);`;
    expect(await reported(source)).toEqual([[true, 0]]);
  });

  it('is so too if it is collected', async () => {
    const source = `
      const before = threadCount();
      let seen = false;
      for (let round = 0; round < 20 && !seen; round++) {
        openDirty();
        const full = mine();
        for (let i = 0; i < 100 && liveMappings() > 0; i++) {
          gc();
          // The finalisers have run by the end of a turn: that a thread more is there is seen only then.
          await turn();
          seen ||= threadCount() > before && mine() > full - SIZE / 2;
        }
        await until(() => liveMappings() === 0);
      }
      await until(() => threadCount() <= before);
      report([seen, maps('large.safetensors')]);`;
    expect(await reported(source)).toEqual([[true, 0]]);
  });

  it('counts until it is gone', async () => {
    const source = `
      let wrong = 0;
      for (let i = 0; i < 2000; i++) {
        st.openSync(path).close();
        if (i % 100 === 0 && liveMappings() < maps('large.safetensors')) wrong++;
      }
      await until(() => liveMappings() === 0);
      report([wrong, maps('large.safetensors')]);`;
    expect(await reported(source)).toEqual([[0, 0]]);
  });

  it('keeps its pages for whoever has taken a buffer, and its address while Node works on one', async () => {
    const source = `
      const file = st.openSync(path);
      let kept = file.tensor('t3').data;
      kept[5] = 42;
      markAsUntransferable(kept.buffer);
      file.close();
      await sleep(50);
      report(kept.length === 0 ? 42 : kept[5]);
      kept = undefined;
      await collect();
      const other = st.openSync(path);
      const { open, write } = await import('node:fs');
      const { promisify } = await import('node:util');
      const output = await promisify(open)(path + '.copy', 'w');
      const { bytes } = other.tensor('t1');
      const writing = promisify(write)(output, bytes);
      other.close();
      const { bytesWritten } = await writing;
      report([bytes.length, bytesWritten, readFileSync(path + '.copy').every((byte) => byte === 0)]);
`;
    expect(await reported(source)).toEqual([42, [0, 16 * MiB, true]]);
  });

  it('may be closed by a worker that alone has loaded the addon, and ends', async () => {
    const source = `
      const loop = "const file = st.openSync(path); for (const { data } of file.values()) for (let i = 0; i < data.length; i += 1024) data[i] = 1; if (workerData[1]) file.close();";
      for (let round = 0; round < 4; round++) await ended(inWorker(loop, round % 2 === 0));
      await until(() => maps('large.safetensors') === 0);
      report(liveMappings());`;
    expect(await reported(source)).toEqual([0]);
  });

  it.each([
    ['by itself', '', 0],
    ['with process.exit(7)', 'process.exit(7);', 7],
    ['with an uncaught error', "throw new Error('uncaught');", 1],
  ])('may be on its way out when the process ends %s', async (_, end, code) => {
    const ended = await run(
      `${PRELUDE} const files = [openDirty(), openDirty()]; for (const file of files) file.close(); ${end}`,
      path,
    );
    expect([ended.code, ended.signal]).toEqual([code, null]);
  });
});

const hasPrlimit = linux && !SANITIZED && canRun('prlimit');

function canRun(command: string): boolean {
  try {
    execFileSync(command, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

// The sanitizers need all of the address space for themselves.
it.runIf(hasPrlimit)('without a thread to be had, a mapping is given back there and then', async () => {
  const source = `
    const { execFileSync } = await import('node:child_process');
    const files = [openDirty(), openDirty()];
    files[1] = undefined;
    const full = mine();
    // Room for some memory, not for the stack of a thread.
    const limit = statusBytes('VmSize') + 6 * 2 ** 20;
    execFileSync('prlimit', ['--pid', String(process.pid), '--as=' + limit + ':']);
    files[0].close();
    report(mine() < full - SIZE * 0.9);
    execFileSync('prlimit', ['--pid', String(process.pid), '--as=unlimited:']);
    files.length = 0;
    await collect();
    await until(() => liveMappings() === 0);`;
  expect(await reported(source)).toEqual([true]);
});

// Owns how a process or a worker ends while files are open: with the code that was asked for, never by a signal.

import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { run, temporaryFolder } from './child.js';
import { floats, writeSparse } from './files.js';

const path = join(temporaryFolder(), 'small.safetensors');
beforeAll(() => writeSparse(path, floats(4, 1 << 20)));

const STAGES: Record<string, string> = {
  opened: `const file = st.openSync(path);`,
  viewed: `const file = st.openSync(path); const kept = [...file.values()].map((tensor) => tensor.data); kept[3][5];`,
  'dropped, not collected': `{ [...st.openSync(path).values()].map((tensor) => tensor.data[9]); }`,
  closed: `const file = st.openSync(path); const { data } = file.tensor('t0'); file.close();`,
  'half closed': `const file = st.openSync(path); const { data } = file.tensor('t0'); markAsUntransferable(data.buffer); file.close();`,
  opening: `const pending = st.open(path); pending.catch(() => {});`,
  reading: `const file = st.openSync(path, { backend: 'read' }); file.tensor('t0').data;`,
};

const ENDS: Record<string, { source: string; code: number | null; signal?: NodeJS.Signals }> = {
  'by itself': { source: '', code: 0 },
  'with process.exit(7)': { source: 'process.exit(7);', code: 7 },
  'with an uncaught error': { source: `throw new Error('uncaught');`, code: 1 },
  'by SIGTERM': { source: `process.kill(process.pid, 'SIGTERM'); await sleep(10_000);`, code: null, signal: 'SIGTERM' },
};

describe.each(Object.entries(STAGES))('%s', (_, stage) => {
  it.concurrent.each(Object.entries(ENDS))('ends %s', async (_name, { source, code, signal = null }) => {
    const ended = await run(`${stage}\n${source}`, path);
    expect([ended.code, ended.signal], ended.stderr).toEqual([code, signal]);
  });
});

describe('workers', () => {
  it('that end by themselves give back what they mapped', async () => {
    const ended = await run(
      `const workers = Array.from({ length: 4 }, () => inWorker(
         "const file = st.openSync(path); for (const tensor of file.values()) tensor.data[0]; parentPort.postMessage(file.size);"));
       const sizes = await Promise.all(workers.map((worker) => new Promise((resolve) => worker.once('message', resolve))));
       await Promise.all(workers.map((worker) => worker.threadId === -1 ? 0 : ended(worker)));
       await collect();
       report([sizes, liveMappings()]);`,
      path,
    );
    expect(ended).toMatchObject({ code: 0, signal: null, reported: [[[4, 4, 4, 4], 0]] });
  });

  it('that are terminated at any moment do not take the process along', async () => {
    const ended = await run(
      `const loop = "for (;;) { const file = st.openSync(path); for (const tensor of file.values()) tensor.data[77]; if (Math.random() < 0.5) file.close(); }";
       for (let round = 0; round < 3; round++) {
         const workers = Array.from({ length: 4 }, () => inWorker(loop));
         await sleep(40 + round * 60);
         await Promise.all(workers.map((worker) => worker.terminate()));
       }
       await collect();
       report(liveMappings());
       report(st.openSync(path).tensor('t1').data[0]);`,
      path,
    );
    expect(ended).toMatchObject({ code: 0, signal: null, reported: [0, 0] });
  });

  it.each([
    [
      'copies',
      'st.openSync(path)',
      "file.tensor('t0').slice(null).copyTo(bytes); file.tensor('t1').slice([null, null, 2]).copyTo(bytes);",
    ],
    [
      'converts',
      'st.openSync(path)',
      "file.tensor('t2').slice([0, 4096]).toFloat32Array(floats); file.tensor('t3').slice([null, null, 64]).toFloat32Array();",
    ],
    [
      'opens and closes',
      'undefined',
      'const other = st.openSync(path); for (const tensor of other.values()) tensor.data[77]; other.close();',
    ],
  ])('that are terminated while one synchronously %s end at once, with all they mapped', async (_, file, work) => {
    const ended = await run(
      `const loop = \`
         const file = ${file};
         const bytes = new Uint8Array(2 ** 22);
         const floats = new Float32Array(4096);
         for (let round = 0; ; round++) { ${work} if (round === 0) parentPort.postMessage('warm'); }\`;
       for (let round = 0; round < 8; round++) {
         const worker = inWorker(loop);
         await new Promise((resolve) => worker.once('message', resolve));
         if (round % 4 > 0) await sleep(round % 4);
         await worker.terminate();
       }
       await collect();
       report(liveMappings());`,
      path,
    );
    expect(ended).toMatchObject({ code: 0, signal: null, stderr: '', reported: [0] });
  });

  it('may be the only ones to load the addon, which is then unloaded with them', async () => {
    const ended = await run(
      `const source = "const file = st.openSync(path); globalThis.kept = [...file.values()].map((tensor) => tensor.data);";
       for (let round = 0; round < 3; round++) await ended(inWorker(source));
       gc();
       await turn();
       report(readFileSync('/proc/self/maps', 'utf8').includes('small.safetensors'));`,
      path,
    );
    expect(ended).toMatchObject({ code: 0, signal: null, reported: [false] });
  });

  it('get a copy of a view that is posted to them', async () => {
    const ended = await run(
      `const file = st.openSync(path);
       const { data } = file.tensor('t1');
       data[3] = 5;
       const worker = inWorker("parentPort.once('message', (data) => { data[3]++; parentPort.postMessage([data[3], data.length]); });");
       worker.postMessage(data);
       const answer = await new Promise((resolve) => worker.once('message', resolve));
       file.close();
       report([answer, data.length]);`,
      path,
    );
    expect(ended).toMatchObject({ code: 0, signal: null, reported: [[[6, 1 << 20], 0]] });
  });
});

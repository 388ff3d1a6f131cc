// Owns how a process ends while files are open, in whatever stage they are: with the code that was asked for, never by a
// signal of its own. Workers that end are in workers.test.ts.

import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { run, SANITIZED, temporaryFolder } from './child.js';
import { floats, writeSparse } from './files.js';

const path = join(temporaryFolder(), 'small.safetensors');
beforeAll(() => writeSparse(path, floats(4, 1 << 20)));

/** What is under way when the end comes. Also run in workers, which are terminated. */
const STAGES: Record<string, string> = {
  opening: `const pending = st.open(path); pending.catch(() => {});`,
  opened: `const file = st.openSync(path);`,
  viewed: `const file = st.openSync(path); const kept = [...file.values()].map((tensor) => tensor.data); kept[3][5];`,
  'dropped, not collected': `{ [...st.openSync(path).values()].map((tensor) => tensor.data[9]); }`,
  converting: `const file = st.openSync(path); const pending = [1, 2, 4].map((threads) => file.tensor('t0').toFloat32({ threads }).catch(() => {}));`,
  'closed while converting': `const file = st.openSync(path); const pending = file.tensor('t0').toFloat32({ threads: 4 }).catch(() => {}); file.close();`,
  closed: `const file = st.openSync(path); for (const { data } of file.values()) data.fill(1); file.close();`,
  'half closed': `const file = st.openSync(path); const kept = [...file.values()].map((tensor) => tensor.data.fill(1)); file.close();`,
  reading: `const file = st.openSync(path, { backend: 'read' }); file.tensor('t0').data; const pending = file.tensor('t1').toFloat32().catch(() => {});`,
};

const ENDS: Record<string, { source: string; code: number | null; signal?: NodeJS.Signals }> = {
  'by itself': { source: '', code: 0 },
  'with process.exit(7)': { source: 'process.exit(7);', code: 7 },
  'with an uncaught error': { source: `throw new Error('uncaught');`, code: 1 },
  'by SIGTERM': { source: `process.kill(process.pid, 'SIGTERM'); await sleep(10_000);`, code: null, signal: 'SIGTERM' },
};

// A process takes seconds to start under the sanitizers, and their report names the place: there it is in all stages at once.
const CASES = SANITIZED
  ? {
      'all of them': Object.values(STAGES)
        .map((stage) => `{ ${stage} }`)
        .join('\n'),
    }
  : STAGES;

describe.each(Object.entries(CASES))('%s', (_, stage) => {
  it.concurrent.each(Object.entries(ENDS))('ends %s', async (_name, { source, code, signal = null }) => {
    const ended = await run(`${stage}\n${source}`, path);
    expect([ended.code, ended.signal], ended.stderr).toEqual([code, signal]);
  });
});

it('a worker is terminated in each of them, and leaves nothing', async () => {
  const source = `
    const stages = ${JSON.stringify(Object.values(STAGES))};
    const codes = await Promise.all(stages.map(async (stage) => {
      const worker = inWorker(stage + "; parentPort.postMessage('there'); setInterval(() => {}, 1000);");
      const end = ended(worker);
      await new Promise((resolve) => worker.once('message', resolve));
      worker.terminate();
      return end;
    }));
    await collect();
    await until(() => liveMappings() === 0);
    report(codes);`;
  const ended = await run(source, path);
  expect(ended).toMatchObject({ code: 0, signal: null, stderr: '' });
  expect(ended.reported).toEqual([Object.values(STAGES).map(() => 1)]);
});

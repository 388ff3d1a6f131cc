// Owns workers that share a model: each opens the path for itself, and ends when and how it likes. What is left is nothing.
// Refuses the ends of the process, which are in exits.test.ts.

import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { LIBRARY } from './bundle.js';
import { Companion, run, temporaryFolder } from './child.js';
import { floats, writeSparse } from './files.js';

const path = join(temporaryFolder(), 'small.safetensors');
beforeAll(() => writeSparse(path, floats(4, 1 << 20)));

const companion = new Companion(() => path, `const { nativeBinding } = await import(${JSON.stringify(LIBRARY.href)});`);

describe('workers', () => {
  it('that end by themselves give back what they mapped', async () => {
    const reported = await companion.run(
      `const workers = Array.from({ length: 4 }, () => inWorker(
         "const file = st.openSync(path); for (const tensor of file.values()) tensor.data[0]; parentPort.postMessage(file.size);"));
       const sizes = await Promise.all(workers.map((worker) => new Promise((resolve) => worker.once('message', resolve))));
       await Promise.all(workers.map((worker) => worker.threadId === -1 ? 0 : ended(worker)));
       await collect();
       await until(() => liveMappings() === 0);
       report([sizes, liveMappings()]);`,
    );
    expect(reported).toEqual([[[4, 4, 4, 4], 0]]);
  });

  it('16 at a time, that come and go at any moment while they view, convert, open and close', async () => {
    const source = `
      const loop = \`
        const random = (count) => Math.floor(Math.random() * count);
        const model = await st.openModel(path);
        const target = new Float32Array(2 ** 20);
        const pick = (file) => file.tensor('t' + random(4));
        const works = [
          () => pick(model).data[random(2 ** 20)],
          () => { pick(model).data[random(2 ** 20)] = 1; },
          () => pick(model).toFloat32({ threads: 1 + random(4), target }),
          () => pick(model).slice([0, 2 ** 16]).toFloat32(),
          () => { pick(model).slice([null, null, 64]).toFloat32Array(); },
          async () => { const file = await st.open(path); const { data } = pick(file); data.fill(2); file.close(); },
          () => { const file = st.openSync(path); pick(file).toFloat32().catch(() => {}); file.close(); },
          () => { for (const { data } of st.openSync(path).values()) data[random(2 ** 20)]; },
          () => pick(st.openSync(path, { backend: 'read' })).slice([0, 4096]).toFloat32(),
        ];
        for (let round = 0; ; round++) {
          await works[random(works.length)]();
          if (round === 1) parentPort.postMessage('busy');
        }\`;
      const REPLACED = 4;
      const errors = [];
      const begin = () => {
        const worker = inWorker(loop);
        worker.on('error', (error) => errors.push(error.message));
        return { worker, busy: new Promise((resolve) => { worker.once('message', resolve); worker.once('exit', resolve); }) };
      };
      const team = Array.from({ length: 16 }, begin);
      await Promise.all(team.map(({ busy }) => busy));
      const held = [];
      // Each begins while the others work; all but one end wherever their beginning has come to.
      await Promise.all(team.slice(0, REPLACED).map(async ({ worker }, place) => {
        await worker.terminate();
        team[place] = begin();
        if (place === 1) await team[place].busy;
        held.push(liveMappings());
      }));
      await Promise.all(team.map(({ worker }) => worker.terminate()));
      await collect();
      await until(() => liveMappings() === 0 && nativeBinding().liveFloats() === 0 && maps('small.safetensors') === 0);
      // Node loses a descriptor that a thread of its pool is opening when the worker is terminated, with or without this
      // library; one that has been opened is closed.
      const open = readdirSync('/proc/self/fd').filter((name) => { try { return readlinkSync('/proc/self/fd/' + name) === path; } catch { return false; } });
      report([errors, open.length <= REPLACED + 16, Math.max(...held) < 2000]);`;
    expect(await companion.run(source)).toEqual([[[], true, true]]);
  }, 60_000);

  it('that are terminated at any moment do not take the process along', async () => {
    const reported = await companion.run(
      `const loop = "for (;;) { const file = st.openSync(path); for (const tensor of file.values()) tensor.data[77]; if (Math.random() < 0.5) file.close(); }";
       for (let round = 0; round < 2; round++) {
         const workers = Array.from({ length: 4 }, () => inWorker(loop));
         await sleep(40 + round * 80);
         await Promise.all(workers.map((worker) => worker.terminate()));
       }
       await collect();
       await until(() => liveMappings() === 0);
       report(liveMappings());
       report(st.openSync(path).tensor('t1').data[0]);`,
    );
    expect(reported).toEqual([0, 0]);
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
    const reported = await companion.run(
      `const loop = \`
         const file = ${file};
         const bytes = new Uint8Array(2 ** 22);
         const floats = new Float32Array(4096);
         for (let round = 0; ; round++) { ${work} if (round === 0) parentPort.postMessage('warm'); }\`;
       for (let round = 0; round < 4; round++) {
         const worker = inWorker(loop);
         await new Promise((resolve) => worker.once('message', resolve));
         if (round > 0) await sleep(round);
         await worker.terminate();
       }
       await collect();
       await until(() => liveMappings() === 0);
       report(liveMappings());`,
    );
    expect(reported).toEqual([0]);
  });

  it('may be the only ones to load the addon, which is then unloaded with them', async () => {
    const ended = await run(
      `const source = "const file = st.openSync(path); globalThis.kept = [...file.values()].map((tensor) => tensor.data);";
       for (let round = 0; round < 2; round++) await ended(inWorker(source));
       gc();
       await turn();
       await until(() => maps('small.safetensors') === 0);
       report(false);`,
      path,
    );
    expect(ended).toMatchObject({ code: 0, signal: null, reported: [false] });
  });

  it('get a copy of a view that is posted to them', async () => {
    const reported = await companion.run(
      `const file = st.openSync(path);
       const { data } = file.tensor('t1');
       data[3] = 5;
       const worker = inWorker("parentPort.once('message', (data) => { data[3]++; parentPort.postMessage([data[3], data.length]); });");
       worker.postMessage(data);
       const answer = await new Promise((resolve) => worker.once('message', resolve));
       file.close();
       report([answer, data.length]);`,
    );
    expect(reported).toEqual([[[6, 1 << 20], 0]]);
  });
});

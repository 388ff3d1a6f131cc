// Owns prefetches of real files that lose something on their way: the caller's patience, the file, the worker, the process.
// None may crash or leave work behind. Both ways of bringing pages in are asked: populating a mapping, and reading.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { Companion, run, temporaryFolder } from './child.js';
import { floats, writeSparse } from './files.js';

const folder = temporaryFolder();
const path = join(folder, 'holes.safetensors');
const model = join(folder, 'model.safetensors.index.json');
const MiB = 2 ** 20;
const linux = process.platform === 'linux';

// Holes are read and populated as data is, at the cost of memory only.
beforeAll(() => {
  writeSparse(path, floats(8, 2 * MiB));
  const weightMap: Record<string, string> = {};
  for (let k = 0; k < 40; k++) {
    writeSparse(join(folder, `m-${k}.safetensors`), { [`w${k}`]: { dtype: 'U8', shape: [MiB], byteLength: MiB } });
    weightMap[`w${k}`] = `m-${k}.safetensors`;
  }
  writeFileSync(model, JSON.stringify({ metadata: {}, weight_map: weightMap }));
});

const PRELUDE = `
  const codeOf = (promise) => promise.then(() => 'done', (error) => error?.code ?? error?.name ?? error);
  // A machine that is short of memory takes pages back at any time.
  const mostly = (resident, bytes) => resident > bytes * 0.75 && resident <= bytes;
  const busy = () => process.getActiveResourcesInfo().filter((name) => /fs|work/i.test(name)).length;
  const rest = async () => { for (let i = 0; i < 1000 && busy() > 0; i++) await sleep(2); return busy(); };
  // The first step is over.
  const begun = (file, options = {}) => new Promise((resolve) => {
    let prefetching;
    const onProgress = () => resolve([prefetching]);
    prefetching = file.prefetch(undefined, { threads: 1, ...options, onProgress });
  });
`;

// One process for all that must not end it; both ways are chosen anew for each file that is opened and each step.
const companion = new Companion(() => path, PRELUDE);

async function reported(source: string, env: NodeJS.ProcessEnv = {}, file = path): Promise<unknown[]> {
  return companion.run(`
    const path = ${JSON.stringify(file)};
    Object.assign(process.env, ${JSON.stringify(env)});
    try { ${source}
    } finally {
      for (const name of ${JSON.stringify(Object.keys(env))}) delete process.env[name];
    }`);
}

/** Cuts a file of its own name short. */
function truncatable(name: string): string {
  const file = join(folder, name);
  writeSparse(file, floats(8, 2 * MiB));
  return file;
}

const WAYS: [name: string, env: NodeJS.ProcessEnv][] = [
  ['populating', {}],
  ['reading beside the mapping', { SAFETENSORS_MMAP_PREFETCH: 'read' }],
  ['backend read', { SAFETENSORS_BACKEND: 'read' }],
];

describe.each(WAYS)('by %s', (name, env) => {
  const isMapped = name !== 'backend read';

  it.runIf(linux)('brings all, or what is named, into memory and nothing else', async () => {
    const source = `
      const open = descriptors();
      const file = await st.open(path);
      file.evict();
      const before = file.residency().residentBytes;
      await file.prefetch(['t6', 't2', 't2']);
      const each = [...file.keys()].map((key) => Math.round(file.residency(key).residentBytes / 2 ** 20));
      const seen = [];
      await file.prefetch(undefined, { onProgress: (done, total) => seen.push([done, total]) });
      const { bytes, residentBytes } = file.residency();
      report([before <= bytes / 8, each, mostly(residentBytes, bytes)]);
      report([seen.length, seen.every(([done, total], i) => total === bytes && done > (seen[i - 1]?.[0] ?? 0)), seen.at(-1)[0] === bytes]);
      report([await rest(), descriptors() - open <= 1, threadCount() < 20]);`;
    const [first, second, third] = await reported(source, env);
    const [before, each, all] = first as [boolean, number[], boolean];
    expect([before, all]).toEqual([true, true]);
    for (const named of [2, 6]) expect(each[named]).toBeGreaterThan(6);
    // After what is named the system reads ahead, up to 16 MiB, or takes the rest of a large page.
    for (const other of [0, 1, 5]) expect(each[other]).toBeLessThanOrEqual(4);
    expect(second).toEqual([3, true, true]);
    expect(third).toEqual([0, true, true]);
  });

  it('an abort rejects with its reason within moments, and leaves nothing under way', async () => {
    const source = `
      const file = await st.open(path);
      const controller = new AbortController();
      const [prefetching] = await begun(file, { signal: controller.signal });
      const at = performance.now();
      controller.abort();
      report([await codeOf(prefetching), performance.now() - at < 5000, await rest()]);`;
    expect(await reported(source, env)).toEqual([[20, true, 0]]);
  });

  it('a close in the middle is CLOSED, and gives everything back', async () => {
    const source = `
      const codes = new Set();
      const open = descriptors();
      const once = async (round) => {
        const file = await st.open(path);
        file.tensor('t1').data[7];
        const prefetching = [codeOf(file.prefetch(undefined, { threads: 1 + round % 3 })), codeOf(file.prefetch('t7'))];
        for (let i = 0; i < round % 5; i++) await turn();
        file.close();
        for (const promise of prefetching) codes.add(await promise);
      };
      for (let round = 0; round < 8; round++) await once(round);
      await collect();
      report([[...codes].sort()[0], await rest(), ${isMapped ? 'liveMappings()' : '0'}, descriptors() <= open]);`;
    // Those that had ended before say so.
    expect(await reported(source, env)).toEqual([['CLOSED', 0, 0, true]]);
  });

  it.runIf(linux)('a file truncated before or in the middle is TRUNCATED_DATA, with its path', async () => {
    const file = truncatable(`truncated-${name.replaceAll(' ', '-')}`);
    const source = `
      const file = await st.open(path);
      const [prefetching] = await begun(file);
      truncateSync(path, 20 * 2 ** 20);
      const error = await prefetching.catch((error) => error);
      report([error.code, error.path === path, error.isFormatError]);
      report(await codeOf(file.prefetch('t7')));
      report(await codeOf(file.prefetch('t0')));
      truncateSync(path, file.byteLength);
      report(await codeOf(file.prefetch()));`;
    expect(await reported(source, env, file)).toEqual([
      ['TRUNCATED_DATA', true, false],
      'TRUNCATED_DATA',
      'done',
      'done',
    ]);
  });

  it('the working directory may change while the file is opened', async () => {
    const file = truncatable(`relative-${name.replaceAll(' ', '-')}`);
    const source = `
      const { basename, dirname } = await import('node:path');
      const [before, real] = [process.cwd(), process.cwd];
      process.chdir(dirname(path));
      const sync = st.openSync(basename(path));
      const opening = st.open(basename(path));
      process.cwd = () => '/';
      const file = await opening;
      process.cwd = real;
      process.chdir(before);
      truncateSync(path, 20 * 2 ** 20);
      report([await codeOf(file.prefetch()), await codeOf(sync.prefetch())]);`;
    expect(await reported(source, env, file)).toEqual([['TRUNCATED_DATA', 'TRUNCATED_DATA']]);
  });

  it('a file replaced or removed is still the one that was opened', async () => {
    const file = truncatable(`replaced-${name.replaceAll(' ', '-')}`);
    const source = `
      const file = await st.open(path);
      writeFileSync(path + '.new', 'another');
      renameSync(path + '.new', path);
      report([await codeOf(file.prefetch()), file.residency('t0').bytes, file.evict()]);
      unlinkSync(path);
      report([await codeOf(file.prefetch()), file.tensor('t7').data[5]]);`;
    expect(await reported(source, env, file)).toEqual([
      ['done', 8 * MiB, null],
      ['done', 0],
    ]);
  });

  it('a worker may be terminated in the middle', async () => {
    const source = `
      const loop = \`
        for (;;) {
          const file = await st.open(path);
          const all = Promise.all([file.prefetch(), file.prefetch(undefined, { threads: 3 }), file.prefetch(['t3', 't5'])]);
          parentPort.postMessage('begun');
          await all;
          file.evict();
          file.close();
        }\`;
      const end = async (worker, after) => {
        await new Promise((resolve) => worker.once('message', resolve));
        await sleep(after);
        await worker.terminate();
      };
      await Promise.all([end(inWorker(loop), 0), end(inWorker(loop), 15)]);
      await collect();
      report([${isMapped ? 'liveMappings()' : '0'}, await codeOf((await st.open(path)).prefetch())]);`;
    expect(await reported(source, env)).toEqual([[0, 'done']]);
  });

  it.each<[string, number]>([
    ['', 0],
    // What is under way at either end is the same; how the process comes to it is exits.test.ts.
    isMapped ? ['process.exit(7);', 7] : [`throw new Error('uncaught');`, 1],
  ])('the process may end in the middle: %s', async (end, code) => {
    const source = `
      const file = await st.open(path);
      for (let i = 0; i < 2; i++) codeOf(file.prefetch(undefined, { threads: 3 }));
      await begun(file);
      ${end}`;
    const ended = await run(PRELUDE + source, path, env);
    expect([ended.code, ended.signal]).toEqual([code, null]);
  });

  it('everything else may be collected meanwhile', async () => {
    const source = `
      const start = () => st.openSync(path).prefetch();
      const prefetching = start();
      let done = false;
      prefetching.then(() => { done = true; });
      while (!done) { gc(); await sleep(3); }
      await collect();
      report(${isMapped ? 'liveMappings()' : '0'});`;
    expect(await reported(source, env)).toEqual([0]);
  });

  it.runIf(linux)('shards of a model are opened as their turn comes, a few at a time', async () => {
    const source = `
      const model = await st.openModel(path);
      const before = descriptors();
      let most = 0;
      const seen = [];
      await model.prefetch(undefined, { threads: 3, onProgress: (done, total) => { most = Math.max(most, descriptors()); seen.push(done / total); } });
      const { bytes, residentBytes } = model.residency();
      report([seen.length, seen.at(-1), mostly(residentBytes, bytes), most - before <= ${isMapped ? 8 : 48}]);
      model.evict('w7');
      report([mostly(model.residency('w7').residentBytes, 2 ** 20), mostly(model.residency('w6').residentBytes, 2 ** 20)]);
      const prefetching = model.prefetch();
      model.close();
      report([await codeOf(prefetching), await rest()]);`;
    expect(await reported(source, env, model)).toEqual([
      [40, 1, true, true],
      [false, true],
      ['CLOSED', 0],
    ]);
  });
});

describe.runIf(linux)('eviction', () => {
  it('takes resident pages away, keeps views, and never what was written', async () => {
    const source = `
      const file = await st.open(path);
      const { data } = file.tensor('t3');
      const resident = () => statusBytes('VmRSS') / 2 ** 20;
      await file.prefetch();
      const full = resident();
      data[2 ** 20] = 42;
      data[data.length - 1] = 43;
      file.evict();
      report([full - resident() > 50, data[2 ** 20], data[data.length - 1], data[0], data.length]);
      report(file.residency().residentBytes < 12 * 2 ** 20);
      await file.prefetch('t3');
      report([data[2 ** 20], mostly(file.residency('t3').residentBytes, data.byteLength)]);
      file.close();
      report(st.openSync(path).tensor('t3').data[2 ** 20]);`;
    expect(await reported(source)).toEqual([[true, 42, 43, 0, 2 * MiB], true, [42, true], 0]);
  });

  it('keeps every written page where they are many, and takes what lies between', async () => {
    const source = `
      const file = await st.open(path);
      const { data } = file.tensor('t3');
      for (let i = 0; i < 300; i++) data[i * 4096] = i + 1;
      await file.prefetch('t3');
      const full = statusBytes('RssFile');
      file.evict('t3');
      let kept = 0;
      for (let i = 0; i < 300; i++) if (data[i * 4096] === i + 1) kept++;
      report([kept, full - statusBytes('RssFile') > 2 ** 22]);`;
    expect(await reported(source)).toEqual([[300, true]]);
  });

  it('of read-only pages as well, and of some tensors alone', async () => {
    const source = `
      const file = await st.open(path, { protection: 'read-only' });
      await file.prefetch();
      file.evict(['t1', 't5']);
      const each = [...file.keys()].map((key) => file.residency(key).residentBytes / 2 ** 20);
      report([each[1] < 4.1, each[5] < 4.1, ...[0, 3, 7].map((k) => mostly(each[k], 8))]);`;
    expect(await reported(source)).toEqual([new Array(5).fill(true)]);
  });
});

describe.runIf(linux)('a prefetched tensor', () => {
  it('costs no major fault', async () => {
    const file = join(folder, 'written.safetensors');
    writeSparse(file, floats(2, 2 * MiB));
    const source = `
      const file = await st.open(path);
      file.evict();
      const majors = () => Number(readFileSync('/proc/self/stat', 'utf8').split(') ')[1].split(' ')[9]);
      await file.prefetch();
      const before = majors();
      let sum = 0;
      for (const { data } of file.values()) for (let i = 0; i < data.length; i += 1024) sum += data[i];
      report([majors() - before, sum]);`;
    expect(await reported(source, {}, file)).toEqual([[0, 0]]);
  });
});

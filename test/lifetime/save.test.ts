// Owns saves that lose their process, their disk or their rights, and what large ones cost. Each in a process of its own.
// Refuses to look inside a save: what counts is what stands at the path.

import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openModel, parse, saveModel, serialize } from '../../src/index.js';
import { LIBRARY } from './bundle.js';
import { run, SANITIZED, temporaryFolder } from './child.js';
import { writeSparse } from './files.js';

const folder = temporaryFolder();
const linux = process.platform === 'linux';
const isRoot = process.getuid?.() === 0;
const GiB = 2 ** 30;

/** Processes to kill; they start slowly under the sanitizers, which have nothing to say of a killed one. */
const ROUNDS = SANITIZED ? 4 : 20;
const MODEL_ROUNDS = ROUNDS / 2;

let count = 0;
function directory(): string {
  const path = join(folder, `d${count++}`);
  mkdirSync(path);
  return path;
}

/** Starts a module in a process that is killed once it has said something and `delay` milliseconds have gone by. */
function killed(source: string, path: string, delay: number): Promise<NodeJS.Signals | null> {
  const args = ['--input-type=module', '-e', `import * as st from ${JSON.stringify(LIBRARY.href)};\n${source}`, path];
  return new Promise((resolve) => {
    const child = execFile(process.execPath, args, () => resolve(child.signalCode));
    child.stdout!.once('data', () => setTimeout(() => child.kill('SIGKILL'), delay));
  });
}

describe('a process that is killed', () => {
  // Numbers, so that each save differs from the one before; the child saves without an end.
  const NUMBERS = '(seed) => new Uint32Array(3 * 2 ** 20).fill(seed)';

  it('in the middle of a save leaves the old file or the new one, whole, and what the next save removes', async () => {
    const home = directory();
    const path = join(home, 'x.safetensors');
    const numbers = (seed: number) => new Uint32Array(3 * 2 ** 20).fill(seed);
    writeFileSync(path, serialize({ x: numbers(0) }));
    let leftovers = 0;
    for (let round = 0; round < ROUNDS; round++) {
      // Ready once the first piece of the first save is written, so that a short delay ends in the middle of it.
      const source = `const numbers = ${NUMBERS};
        let onProgress = () => { console.log('ready'); onProgress = undefined; };
        for (let i = 0; ; i++) await st.save(process.argv[1], { x: numbers(${round * 1000} + i) }, { onProgress: () => onProgress?.() });`;
      expect(await killed(source, path, Math.random() * 120)).toBe('SIGKILL');
      const bytes = readFileSync(path);
      const [seed] = parse(bytes).tensor('x').data;
      expect(bytes.equals(serialize({ x: numbers(Number(seed)) })), `round ${round}`).toBe(true);
      const others = readdirSync(home).filter((name) => name !== 'x.safetensors');
      for (const name of others) expect(name).toMatch(/^\.x\.safetensors\.safetensors-tmp-/);
      // Those of the rounds before are gone already.
      expect(others.length).toBeLessThanOrEqual(1);
      leftovers += others.length;
    }
    // So many rounds do not all end between two saves; the few under the sanitizers may.
    if (!SANITIZED) expect(leftovers).toBeGreaterThan(0);
    const ended = await run(`await st.save(path, { x: new Uint8Array(8) });`, path);
    expect(ended).toMatchObject({ code: 0 });
    expect(readdirSync(home)).toEqual(['x.safetensors']);
  }, 120_000);

  it('in the middle of saving a model leaves the old model or the new one', async () => {
    const path = directory();
    const names = ['a', 'b', 'c', 'd'];
    const model = (seed: number) => Object.fromEntries(names.map((name) => [name, new Uint32Array(50_000).fill(seed)]));
    await saveModel(path, model(0), { maxShardSize: 400_000 });
    for (let round = 0; round < MODEL_ROUNDS; round++) {
      // Sharded as before, in other shards, and in one file, over and over.
      const source = `console.log('ready');
        const model = (seed) => Object.fromEntries(${JSON.stringify(names)}.map((name) => [name, new Uint32Array(50_000).fill(seed)]));
        for (let i = ${round}; ; i++) {
          await st.saveModel(process.argv[1], model(i), { maxShardSize: [400_000, 400_000, 200_000, 5e9][i % 4] });
        }`;
      expect(await killed(source, path, Math.random() * 100)).toBe('SIGKILL');
      using found = await openModel(path);
      const seeds = new Set(Array.from(found.values(), ({ data }) => data[7]));
      expect([[...found.keys()].sort(), seeds.size], `round ${round}`).toEqual([names, 1]);
      for (const { data } of found.values()) expect(data.length).toBe(50_000);
    }
    await saveModel(path, model(1), { maxShardSize: 400_000 });
    // A process that ends right after the new index is in place leaves shards of the old one, which no index names then.
    const left = readdirSync(path).filter((name) => !/^model-0000\d-of-0000\d\.safetensors$/.test(name));
    expect(left).toEqual(['model.safetensors.index.json']);
  }, 120_000);
});

describe('a disk that is full', () => {
  const SAVE = `
    const old = readFileSync(path);
    const tensors = { x: new Uint8Array(32 * 2 ** 20) };
    try { await st.save(path, tensors); } catch (error) { report([error.code, error.syscall, error.path === path, error.message]); }
    report([readFileSync(path).equals(old), readdirSync(path.replace(/[^/]*$/, '')).length]);`;
  const MESSAGE = /x\.safetensors"; what was there before is as it was$/;

  it.runIf(linux)('by a limit on file sizes, is an error that says so, and the old file stays', async () => {
    const path = join(directory(), 'x.safetensors');
    writeFileSync(path, serialize({ old: new Uint8Array(10) }));
    // In blocks of 1024 bytes.
    const ended = await run(SAVE, path, {}, ['bash', '-c', 'ulimit -f 12000 && exec "$0" "$@"']);
    const message = expect.stringMatching(MESSAGE);
    expect(ended).toMatchObject({
      code: 0,
      reported: [
        ['EFBIG', 'write', true, message],
        [true, 1],
      ],
    });
  });

  it.runIf(linux && isRoot)('for good (needs root to mount one), is the same', async (context) => {
    const home = directory();
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=12m', 'tmpfs', home], { stdio: 'ignore' });
    } catch {
      context.skip('this system does not let root mount a tmpfs');
    }
    try {
      const path = join(home, 'x.safetensors');
      writeFileSync(path, serialize({ old: new Uint8Array(10) }));
      const ended = await run(SAVE, path);
      const message = expect.stringMatching(MESSAGE);
      expect(ended).toMatchObject({
        code: 0,
        reported: [
          ['ENOSPC', 'write', true, message],
          [true, 1],
        ],
      });
    } finally {
      execFileSync('umount', [home]);
    }
  });
});

describe.runIf(linux && isRoot)('without rights (needs root to give them up)', () => {
  const NOBODY = 65_534;
  const SAVE = `
    process.setgid(${NOBODY});
    process.setuid(${NOBODY});
    const failed = async (options) => {
      try { await st.save(path, { x: new Uint8Array(8) }, options); return 'ok'; }
      catch (error) { return [error.code, error.message]; }
    };
    report(await failed({}));
    report(await failed({ atomic: false }));`;

  /** A file that anybody may write, in a directory of this mode. */
  function fileIn(mode: number): string {
    const home = directory();
    const path = join(home, 'x.safetensors');
    writeFileSync(path, serialize({}));
    chmodSync(path, 0o666);
    chmodSync(home, mode);
    chmodSync(folder, 0o755);
    return path;
  }

  it('to a directory, the error names the option that needs none', async () => {
    const path = fileIn(0o555);
    const ended = await run(SAVE, path);
    const reason = expect.stringMatching(
      /^EACCES: permission denied, open ".*x\.safetensors"; save\(\) with \{ atomic: false \}/,
    );
    expect(ended).toMatchObject({ code: 0, reported: [['EACCES', reason], 'ok'] });
    expect(readdirSync(join(path, '..'))).toEqual(['x.safetensors']);
  });

  it('to rename over a file, the same', async () => {
    const path = fileIn(0o1777); // sticky: only owners rename
    chownSync(path, 1, 1);
    const ended = await run(SAVE, path);
    const reason = expect.stringMatching(
      /^EPERM: operation not permitted, rename ".*"; save\(\) with \{ atomic: false \}/,
    );
    expect(ended).toMatchObject({ code: 0, reported: [['EPERM', reason], 'ok'] });
    expect(readdirSync(join(path, '..'))).toEqual(['x.safetensors']);
  });
});

describe('a source', () => {
  it('that is closed while its memory is being written does no harm', async () => {
    const path = join(directory(), 'x.safetensors');
    writeSparse(path, { x: { dtype: 'U8', shape: [64 * 2 ** 20], byteLength: 64 * 2 ** 20 } });
    const source = `
      const codes = new Set();
      for (let i = 0; i < 10; i++) {
        const file = await st.open(path);
        const saved = st.save(path + '.copy', file).then(() => 'ok', (error) => error.code);
        await sleep(i);
        file.close();
        codes.add(await saved);
      }
      await collect();
      report([[...codes].every((code) => code === 'CLOSED' || code === 'ok'), codes.has('CLOSED'), liveMappings(), descriptors() < 40]);`;
    expect(await run(source, path)).toMatchObject({ code: 0, signal: null, reported: [[true, true, 0, true]] });
  });

  it('of small tensors that has become shorter is an error, not a signal: JavaScript does not touch it', async () => {
    const path = join(directory(), 'x.safetensors');
    const tensors = Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`t${i}`, new Uint8Array(100).fill(i)]));
    writeFileSync(path, serialize(tensors));
    const source = `
      const file = await st.open(path);
      const arrays = Object.fromEntries(Array.from(file, ([name, { data }]) => [name, data]));
      truncateSync(path, 8192);
      for (const tensors of [file, arrays]) await st.save(path + '.copy', tensors).catch((error) => report(error.code));
      report(readdirSync(path.replace(/[^/]*$/, '')));`;
    const reported = ['TRUNCATED_DATA', 'TRUNCATED_DATA', ['x.safetensors']];
    expect(await run(source, path)).toMatchObject({ code: 0, signal: null, reported });
  });

  it('of a worker that is terminated in the middle of a save leaves the old file', async () => {
    const path = join(directory(), 'x.safetensors');
    writeSparse(path, { x: { dtype: 'U8', shape: [64 * 2 ** 20], byteLength: 64 * 2 ** 20 } });
    const source = `
      for (let i = 0; i < 5; i++) {
        const worker = inWorker("const file = st.openSync(path); parentPort.postMessage(0); for (;;) await st.save(path, file);");
        await new Promise((resolve) => worker.once('message', resolve));
        await sleep(i * 20);
        await worker.terminate();
      }
      await collect();
      report([liveMappings(), st.openSync(path).byteLength]);`;
    const { size } = statSync(path);
    expect(await run(source, path)).toMatchObject({ code: 0, signal: null, reported: [[0, size]] });
  });

  it.runIf(linux)('with a tensor longer than a buffer is streamed, from its beginning and from its end', async () => {
    const path = join(directory(), 'giant.safetensors');
    writeSparse(path, { giant: { dtype: 'F32', shape: [5, GiB / 4], byteLength: 5 * GiB } });
    const source = `
      const file = await st.open(path);
      const onProgress = (written) => { if (written > 2 ** 25) throw new Error('enough'); };
      await st.save(path + '.copy', file, { onProgress }).catch((error) => report(error.message));
      const last = file.tensor('giant').slice(4, [-(2 ** 22), null]);
      const column = file.tensor('giant').slice(null, [-1, null]);
      await st.save(path + '.copy', { last, column });
      const copy = await st.open(path + '.copy');
      report([copy.info('last').shape, copy.info('column').shape, copy.byteLength - copy.header.dataOffset]);`;
    const ended = await run(source, path);
    const shapes = [[2 ** 22], [5, 1], 2 ** 24 + 20];
    expect(ended).toMatchObject({ code: 0, signal: null, reported: ['enough', shapes] });
  });
});

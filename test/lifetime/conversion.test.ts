// Owns conversions that lose something on their way: the process, the worker, the file, the target, every reference.
// None may crash, write into memory that is gone, or leave work behind. Their results are held elsewhere.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { readFloat32Table } from '../float32_table.js';
import { withHeader } from '../support/files.js';
import { LIBRARY } from './bundle.js';
import { Companion, HAS_TRANSFER, run, temporaryFolder } from './child.js';
import { writeSparse } from './files.js';

const folder = temporaryFolder();
const path = join(folder, 'holes.safetensors');
const giant = join(folder, 'giant.safetensors');
const tablePath = join(folder, 'table.safetensors');
const MiB = 2 ** 20;
const GiB = 2 ** 30;
const linux = process.platform === 'linux';

// The hole of a sparse file reads as zeros, which as powers of two are 2^-127: a result that nothing else leaves behind.
beforeAll(() => {
  writeSparse(path, {
    t: { dtype: 'F8_E8M0', shape: [16, MiB], byteLength: 16 * MiB },
    floats: { dtype: 'F32', shape: [4 * MiB], byteLength: 16 * MiB },
  });
  writeSparse(giant, { giant: { dtype: 'F8_E8M0', shape: [5, GiB], byteLength: 5 * GiB } });
  const header: Record<string, unknown> = {};
  let end = 0;
  const table = readFloat32Table();
  for (const { dtype, count, bytes } of table) {
    header[dtype] = { dtype, shape: [count], data_offsets: [end, end + bytes.length] };
    end += bytes.length;
  }
  const data = Buffer.concat(table.map(({ bytes }) => bytes));
  writeFileSync(tablePath, withHeader(JSON.stringify(header), data));
});

const PRELUDE = `
  import { nativeBinding } from ${JSON.stringify(LIBRARY.href)};
  const HALF = 2 ** -127;
  // A loop, since 'every' takes several times as long for 16 million elements.
  const right = (floats, length) => {
    for (let i = 0; i < length; i++) if (floats[i] !== HALF) return false;
    return floats.length === length;
  };
  const codeOf = (promise) => promise.then(() => 'done', (error) => error.code ?? error.name);
`;

const companion = new Companion(() => path, PRELUDE);

/** What a piece reports that leaves nothing under way. */
const reported = (source: string) => companion.run(source);

/** The same from a process of its own, which has to end by itself. */
async function alone(source: string, file = path, env: NodeJS.ProcessEnv = {}): Promise<unknown[]> {
  const ended = await run(PRELUDE + source, file, env);
  expect(ended).toMatchObject({ code: 0, signal: null, stderr: '' });
  return ended.reported;
}

const BACKENDS = ['mmap', 'read'] as const;

describe.each(BACKENDS)('with backend %s', (backend) => {
  const openIt = `const file = st.openSync(path, { backend: '${backend}' });`;

  it.each([
    ['fresh memory', 'undefined'],
    ['a target', 'new Float32Array(16 * 2 ** 20)'],
  ])('everything may be collected while %s is being filled', async (_, target) => {
    const source = `
      const start = () => { ${openIt} return file.tensor('t').toFloat32({ threads: 3, target: ${target} }); };
      let converting = start();
      let done = false;
      converting.then(() => { done = true; });
      while (!done) { gc(); await turn(); }
      let floats = await converting;
      report(right(floats, 16 * 2 ** 20));
      floats = converting = undefined;
      await collect();
      report([liveMappings()]);`;
    expect(await reported(source)).toEqual([true, [0]]);
  });

  it('nobody need wait for the result', async () => {
    const source = `
      { ${openIt} for (let i = 0; i < 4; i++) file.tensor('t').toFloat32({ threads: 2 }); }
      for (let i = 0; i < 5; i++) { gc(); await turn(); }
      report('left');`;
    expect(await alone(source)).toEqual(['left']);
  });

  it.each(['', 'process.exit(7);', 'setImmediate(() => process.exit(7)); await sleep(10_000);'])(
    'the process may end during it: %s',
    async (end) => {
      const source = `
        ${openIt}
        for (let i = 0; i < 4; i++) file.tensor('t').toFloat32({ threads: 4 }).catch(() => {});
        ${end}`;
      const ended = await run(source, path);
      expect([ended.code, ended.signal, ended.stderr]).toEqual([end === '' ? 0 : 7, null, '']);
    },
  );

  it('an abort leaves nothing running, and the process free to end', async () => {
    const source = `
      const binding = nativeBinding();
      const { convertInto, convert } = binding;
      let pieces = 0;
      let running = 0;
      binding.convertInto = (...args) => { pieces++; running++; return convertInto(...args).finally(() => { running--; }); };
      binding.convert = (...args) => { pieces++; return convert(...args); };
      ${openIt}
      for (const threads of [1, 4]) for (const part of [file.tensor('t'), file.tensor('t').slice(null, [null, null, 2])]) {
        pieces = 0;
        const controller = new AbortController();
        const converting = part.toFloat32({ threads, signal: controller.signal });
        while (pieces === 0) await turn();
        controller.abort();
        const code = await converting.then(() => 'done', (error) => error.name);
        const at = pieces;
        const left = running;
        for (let i = 0; i < 50; i++) await turn();
        report([code, left, pieces - at, at < part.length / 2 ** 19, process.getActiveResourcesInfo().filter((name) => /fs|work/i.test(name)).length]);
      }
      Object.assign(binding, { convertInto, convert });`;
    expect(await reported(source)).toEqual(new Array(4).fill(['AbortError', 0, 0, true, 0]));
  });

  it('close at any moment rejects with CLOSED, and gives everything back', async () => {
    const source = `
      const codes = new Set();
      for (let round = 0; round < 12; round++) {
        ${openIt}
        const target = round % 2 ? new Float32Array(16 * 2 ** 20) : undefined;
        const converting = codeOf(file.tensor('t').toFloat32({ threads: 1 + (round % 4), target }));
        for (let i = 0; i < round % 6; i++) await turn();
        file.close();
        codes.add(await converting);
      }
      await collect();
      report([[...codes], liveMappings()${linux ? ", maps('holes.safetensors'), readdirSync('/proc/self/fd').length < 40" : ', 0, true'}]);`;
    expect(await reported(source)).toEqual([[['CLOSED'], 0, 0, true]]);
  });

  it('a target transferred at any moment rejects with INVALID_ARGUMENT, and is not written to', async () => {
    const source = `
      ${openIt}
      const codes = new Set();
      for (let round = 0; round < 4; round++) {
        const target = new Float32Array(16 * 2 ** 20);
        const converting = codeOf(file.tensor('t').toFloat32({ threads: 1 + (round % 4), target }));
        for (let i = 0; i < round % 4; i++) await turn();
        ${HAS_TRANSFER ? 'target.buffer.transfer(0);' : 'structuredClone(target.buffer, { transfer: [target.buffer] });'}
        gc(); // the memory is gone
        codes.add(await converting);
      }
      report([...codes]);`;
    expect(await reported(source)).toEqual([['INVALID_ARGUMENT']]);
  });

  it('a worker may be terminated at any moment', async () => {
    const source = `
      const loop = \`
        for (let round = 0; ; round++) {
          const file = st.openSync(path, { backend: '${backend}' });
          const target = round % 2 ? new Float32Array(4 * 2 ** 20) : undefined;
          const parts = [file.tensor('t').slice([0, 4]), file.tensor('t').slice([4, 10], [null, null, 3])];
          await Promise.all(parts.map((part) => part.toFloat32({ threads: 4, target })));
          if (round === 0) parentPort.postMessage('warm');
          file.close();
        }\`;
      for (let round = 0; round < 4; round++) {
        const workers = [inWorker(loop), inWorker(loop)];
        if (round % 2) await Promise.all(workers.map((worker) => new Promise((resolve) => worker.once('message', resolve))));
        await sleep(round * 15);
        await Promise.all(workers.map((worker) => worker.terminate()));
      }
      await collect();
      report([liveMappings(), nativeBinding().liveFloats()]);
      report(right(await st.openSync(path, { backend: '${backend}' }).tensor('t').toFloat32({ threads: 2 }), 16 * 2 ** 20));`;
    expect(await reported(source)).toEqual([[0, 0], true]);
  }, 60_000);

  it('the event loop turns while it is under way', async () => {
    const source = `
      ${openIt}
      let turns = 0;
      let done = false;
      const count = () => { turns++; if (!done) setImmediate(count); };
      setImmediate(count);
      await file.tensor('t').toFloat32();
      done = true;
      report(turns >= 16);`;
    expect(await reported(source)).toEqual([true]);
  });
});

describe('what is handed out', () => {
  it('lives on without the file', async () => {
    const source = `
      const floats = await st.openSync(path).tensor('t').toFloat32();
      await collect();
      report([liveMappings(), right(floats, 16 * 2 ** 20)]);
      report(floats.at(-1) === HALF);`;
    expect(await reported(source)).toEqual([[0, true], true]);
  });

  it.runIf(linux)('does not add up over many conversions', async () => {
    const source = `
      const file = st.openSync(path);
      const part = file.tensor('t').slice([0, 4]);
      const resident = () => Number(/VmRSS:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]) / 1024;
      const round = async () => { await part.toFloat32({ threads: 2 }); gc(); await turn(); };
      for (let i = 0; i < 3; i++) await round();
      const before = resident();
      for (let i = 0; i < 16; i++) await round();
      report(resident() - before < 100);`;
    expect(await reported(source)).toEqual([true]);
  });

  it('may be posted to a worker', async () => {
    const source = `
      const floats = await st.openSync(path).tensor('t').toFloat32();
      const worker = inWorker("parentPort.once('message', (floats) => parentPort.postMessage([floats.length, floats.at(-1)]));");
      // Memory that Node did not allocate cannot be moved: with a transfer list Node 20 copies, later ones throw.
      try { worker.postMessage(floats, [floats.buffer]); }
      catch (error) { if (!${HAS_TRANSFER}) report(error.name); worker.postMessage(floats); }
      report(await new Promise((resolve) => worker.once('message', resolve)));
      report(floats.length === 16 * 2 ** 20);`;
    expect(await reported(source)).toEqual([[16 * MiB, 2 ** -127], true]);
  });
});

describe('a tensor of 5 GiB', () => {
  it('is converted in parts: a run and columns beyond the longest buffer', async () => {
    const source = `
      const file = st.openSync(path);
      const giant = file.tensor('giant');
      const parts = {
        run: giant.slice(4, [2 ** 30 - 1000, null]),
        columns: giant.slice(null, [2 ** 30 - 300, null]),
        'far apart': giant.slice([null, null, -1], [null, null, 2 ** 24]),
      };
      for (const [name, part] of Object.entries(parts)) {
        const floats = await part.toFloat32({ threads: 2 });
        report([name, right(floats, part.length), right(part.toFloat32Array(), part.length), part.data.length]);
      }
      const { data, shape } = parts.columns.toNdarray();
      report([data.byteLength <= 2 ** 32 + 5 * 2 ** 30, shape]);`;
    expect(await alone(source, giant)).toEqual([
      ['run', true, true, 1000],
      ['columns', true, true, 1500],
      ['far apart', true, true, 5 * 64],
      [true, [5, 300]],
    ]);
  });

  it('is refused as one array where the runtime has none so long', async () => {
    const source = `
      const { constants } = await import('node:buffer');
      const tensor = st.openSync(path).tensor('giant');
      if (tensor.length * 4 <= constants.MAX_LENGTH) report('BUFFER_TOO_LARGE');
      else report(await codeOf(tensor.toFloat32()));`;
    expect(await alone(source, giant)).toEqual(['BUFFER_TOO_LARGE']);
  });
});

describe('without the addon', () => {
  it('the bits are the same', async () => {
    const source = `
      const { createHash } = await import('node:crypto');
      const file = st.openSync(path, { backend: 'read' });
      for (const tensor of file.values()) {
        for (const part of [tensor, tensor.slice([8, null])]) {
          const floats = await part.toFloat32();
          const atOnce = part.toFloat32Array();
          const hash = (array) => createHash('sha256').update(new Uint8Array(array.buffer)).digest('hex');
          report([tensor.dtype, hash(floats), hash(floats) === hash(atOnce)]);
        }
      }
      try { liveMappings(); report('with'); } catch (error) { report(error.code); }`;
    const [withAddon, without] = await Promise.all([
      alone(source, tablePath),
      alone(source, tablePath, { SAFETENSORS_MMAP_PREBUILD: join(folder, 'nowhere') }),
    ]);
    expect([withAddon.pop(), without.pop()]).toEqual(['with', 'BINDING_NOT_FOUND']);
    expect(without).toEqual(withAddon);
    expect(without.length).toBe(42);
  });
});

// Owns files larger than memory or than a buffer: what opening them touches, and what of them can be reached.

import { constants } from 'node:buffer';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { run, temporaryFolder } from './child.js';
import { floats, writeSparse } from './files.js';

const folder = temporaryFolder();
const large = join(folder, 'large.safetensors');
const giant = join(folder, 'giant.safetensors');
const sixteen = join(folder, 'sixteen.safetensors');
const many = join(folder, 'many.safetensors');
const GiB = 2 ** 30;
const linux = process.platform === 'linux';

beforeAll(() => {
  writeSparse(large, floats(64, GiB / 8 / 4));
  writeSparse(sixteen, floats(64, GiB / 4 / 4));
  writeSparse(giant, {
    before: { dtype: 'F32', shape: [16], byteLength: 64 },
    giant: { dtype: 'F32', shape: [5, GiB / 4], byteLength: 5 * GiB },
    after: { dtype: 'I64', shape: [4], byteLength: 32 },
  });
  writeSparse(many, floats(18_432, 256));
});

async function reported(source: string, path: string): Promise<unknown[]> {
  const ended = await run(source, path);
  expect(ended).toMatchObject({ code: 0, signal: null, stderr: '' });
  return ended.reported;
}

describe('a file of 8 GiB', () => {
  it.runIf(linux)('is opened without reading a page of its data and without keeping a descriptor', async () => {
    const source = `
      const before = descriptors();
      const file = await st.open(path);
      const smaps = readFileSync('/proc/self/smaps', 'utf8');
      const mapped = smaps.slice(smaps.indexOf('large.safetensors'));
      const size = Number(/Size: +(\\d+) kB/.exec(mapped)[1]);
      const resident = Number(/Rss: +(\\d+) kB/.exec(mapped)[1]);
      report([file.byteLength > 8 * 2 ** 30, size >= 8 * 2 ** 20, resident < 1024, descriptors() - before]);`;
    expect(await reported(source, large)).toEqual([[true, true, true, 0]]);
  });

  it('has every tensor within reach, in buffers of less than 2 GiB', async () => {
    const source = `
      const file = await st.open(path);
      const buffers = new Set();
      let lengths = 0;
      for (const tensor of file.values()) {
        lengths += tensor.data.length;
        buffers.add(tensor.data.buffer);
        if (tensor.data[tensor.length - 1] !== 0 || !tensor.isView) report(tensor.name);
      }
      report([lengths * 4 / 2 ** 30, buffers.size, Math.max(...[...buffers].map((buffer) => buffer.byteLength)) < 2 ** 31]);`;
    expect(await reported(source, large)).toEqual([[8, 5, true]]);
  });
});

describe('a file of 16 GiB', () => {
  it('brings at most one full collection for every 2 GiB that are viewed, and none afterwards', async () => {
    const source = `
      const { PerformanceObserver, constants } = await import('node:perf_hooks');
      let major = 0;
      const observer = new PerformanceObserver((list) => {
        for (const { detail } of list.getEntries()) if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) major++;
      });
      observer.observe({ entryTypes: ['gc'] });
      const allocate = async () => {
        let kept = [];
        for (let i = 0; i < 300; i++) {
          kept.push(Array.from({ length: 1000 }, (_, k) => ({ i, k })));
          if (kept.length > 10) kept = [];
          if (i % 10 === 0) await turn();
        }
      };
      const during = async (work) => { const before = major; await work(); await sleep(50); return major - before; };
      const without = await during(allocate);
      let views;
      const viewing = await during(() => { views = [...st.openSync(path).values()].map((tensor) => tensor.data); });
      const after = await during(allocate);
      report([views.length, viewing, after - without]);`;
    const [row] = (await reported(source, sixteen)) as number[][];
    expect(row![0]).toBe(64);
    expect(row![1]).toBeLessThanOrEqual(8);
    expect(row![2]).toBeLessThanOrEqual(1);
  });
});

describe('a tensor of 5 GiB', () => {
  const tooLong = 5 * GiB > constants.MAX_LENGTH;

  it(tooLong ? 'is refused as one buffer; the rest of the file works' : 'is one view', async () => {
    const source = `
      const file = await st.open(path);
      for (const key of ['bytes', 'data']) {
        try { report(file.tensor('giant')[key].byteLength); }
        catch (error) { report([error instanceof st.SafeTensorsError, error.code, error.tensor]); }
      }
      report([file.tensor('before').data.length, file.tensor('after').data.length, file.tensor('giant').length]);`;
    const answer = tooLong ? [true, 'BUFFER_TOO_LARGE', 'giant'] : 5 * GiB;
    expect(await reported(source, giant)).toEqual([answer, answer, [16, 4, (5 * GiB) / 4]]);
  });

  it('is reached by slices, whose memory is given back too', async () => {
    const source = `
      const file = await st.open(path);
      let kept = file.tensor('giant').slice(4, [2 ** 28 - 8, null]);
      report([kept.isView, kept.data.length, kept.data[7], kept.dataOffsets]);
      const column = file.tensor('giant').slice(null, [0, 4]);
      report([column.isView, column.data.length]);
      let rest = kept.data;
      file.close();
      report(rest.length);
      kept = rest = undefined;
      await collect();
      report(liveMappings());`;
    expect(await reported(source, giant)).toEqual([[true, 8, 0, [64 + 5 * GiB - 32, 64 + 5 * GiB]], [false, 20], 0, 0]);
  });
});

describe('a file of 18,432 tensors', () => {
  it('is viewed through one buffer, not one for each tensor', async () => {
    const source = `
      const file = await st.open(path);
      const buffers = new Set();
      for (const tensor of file.values()) buffers.add(tensor.data.buffer);
      report([file.size, buffers.size]);`;
    expect(await reported(source, many)).toEqual([[18_432, 1]]);
  });
});

// Owns the life of a mapping: what keeps it, what ends it, and that nothing is left behind.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { LIBRARY } from './bundle.js';
import { Companion, HAS_TRANSFER, run, SANITIZED, SANITIZER_EXIT, temporaryFolder } from './child.js';
import { floats, writeSparse } from './files.js';

const folder = temporaryFolder();
const path = join(folder, 'small.safetensors');
const linux = process.platform === 'linux';

beforeAll(() => writeSparse(path, floats(4, 1024)));

const companion = new Companion(() => path);

/** What a piece reports that must not end its process, nor leave anything behind. */
const reported = (source: string) => companion.run(source);

describe('writing into a view', () => {
  it('stays in the process: the file is as it was', async () => {
    const before = readFileSync(path);
    const source = `
      const file = await st.open(path);
      const { data } = file.tensor('t1');
      data.fill(42);
      report([file.protection, file.tensor('t1').data[1023], file.tensor('t0').data[0]]);
      file.close();
      report(st.openSync(path).tensor('t1').data[0]);`;
    expect(await reported(source)).toEqual([['copy-on-write', 42, 0], 0]);
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it("ends the process with protection 'read-only', as documented", async () => {
    const source = `
      const file = await st.open(path, { protection: 'read-only' });
      const { data } = file.tensor('t1');
      report([file.protection, data[0]]);
      data[0] = 1;
      report('survived');`;
    const ended = await run(source, path);
    expect(ended.reported).toEqual([['read-only', 0]]);
    if (SANITIZED) expect(ended.code).toBe(SANITIZER_EXIT);
    else expect(['SIGSEGV', 'SIGBUS']).toContain(ended.signal);
  });
});

describe('what keeps a mapping', () => {
  it('a typed array alone, through collections', async () => {
    const source = `
      let data = st.openSync(path).tensor('t2').data;
      await collect();
      report([liveMappings(), data.length, data[1023]]);
      data = undefined;
      await collect();
      report(liveMappings());`;
    expect(await reported(source)).toEqual([[1, 1024, 0], 0]);
  });

  it('a tensor alone, before anything was touched', async () => {
    const source = `
      let tensor = st.openSync(path).tensor('t2');
      await collect();
      report([liveMappings(), tensor.data.length]);
      tensor = undefined;
      await collect();
      report(liveMappings());`;
    expect(await reported(source)).toEqual([[1, 1024], 0]);
  });

  it('nothing, once all are dropped: it is gone from the process', async () => {
    const source = `
      let file = st.openSync(path);
      let arrays = [...file.values()].map((tensor) => tensor.data);
      report([liveMappings(), ${linux ? "maps('small.safetensors')" : 1}]);
      file = arrays = undefined;
      await collect();
      report([liveMappings(), ${linux ? "maps('small.safetensors')" : 0}]);`;
    expect(await reported(source)).toEqual([
      [1, 1],
      [0, 0],
    ]);
  });
});

describe('close', () => {
  it('takes the memory away from every view, and unmaps', async () => {
    const source = `
      const file = st.openSync(path);
      let tensor = file.tensor('t0');
      let { data, bytes } = tensor;
      file.close();
      file.close();
      data[0] = 1;
      await collect();
      report([data.length, data[0] === undefined, bytes.length, file.closed]);
      data = bytes = tensor = undefined;
      await collect();
      report(liveMappings());`;
    expect(await reported(source)).toEqual([[0, true, 0, true], 0]);
  });

  it('leaves a buffer that was marked untransferable; its mapping ends with it', async () => {
    const source = `
      const file = st.openSync(path);
      let { data } = file.tensor('t0');
      markAsUntransferable(data.buffer);
      file.close();
      await collect();
      const length = data.length;
      if (length > 0) data.fill(1);
      report([length === 0 || length === 1024, liveMappings()]);
      data = undefined;
      await collect();
      report(liveMappings());`;
    // Node 20 and 22 can take the memory away all the same.
    expect(await reported(source)).toEqual([[true, 1], 0]);
  });

  it.runIf(HAS_TRANSFER)('leaves a buffer that was transferred away; its mapping ends with it', async () => {
    const source = `
      const file = st.openSync(path);
      let tensor = file.tensor('t0');
      let before = tensor.data;
      let moved = before.buffer.transfer();
      report([before.length, tensor.data.length, tensor.data[0]]);
      file.close();
      await collect();
      report([tensor.shape, liveMappings(), new Float32Array(moved, 0, 8)[0]]);
      moved = before = tensor = undefined;
      await collect();
      report(liveMappings());`;
    const header = readFileSync(path).readBigUInt64LE();
    expect(header % 8n).toBe(0n);
    expect(await reported(source)).toEqual([[0, 1024, 0], [[1024], 1, expect.any(Number)], 0]);
  });

  it('waits with the memory for work that Node does elsewhere: neither crash nor another file', async () => {
    const source = `
      const { deflate, inflateSync, constants } = await import('node:zlib');
      const { promisify } = await import('node:util');
      writeFileSync(path + '.a', readFileSync(path));
      const bytes = readFileSync(path); bytes.fill(7, bytes.length - 4 * 4096); writeFileSync(path + '.b', bytes);
      const right = Buffer.from(st.openSync(path + '.a').tensor('t2').bytes);
      const jobs = [];
      for (let i = 0; i < 32; i++) {
        const file = st.openSync(path + '.a');
        jobs.push(promisify(deflate)(file.tensor('t2').bytes, { level: 9 }));
        file.close();
        const other = st.openSync(path + '.b');
        if (other.tensor('t2').data[0] === 0) report('the other file is the same');
      }
      const wrong = (await Promise.all(jobs)).filter((packed) => !inflateSync(packed).equals(right));
      report(wrong.length);
      await collect();
      report(liveMappings() <= 1);`;
    expect(await reported(source)).toEqual([0, true]);
  });

  it('keeps what was written to a buffer that it cannot take away', async () => {
    const source = `
      const file = st.openSync(path);
      let { data } = file.tensor('t0');
      data[5] = 42;
      markAsUntransferable(data.buffer);
      file.close();
      report(data.length === 0 ? 42 : data[5]);
      // Node 24 to 26 abort at their end when such a buffer is still there.
      data = undefined;
      await collect();`;
    expect(await reported(source)).toEqual([42]);
  });

  it('is what `using` does', async () => {
    const source = `
      const file = st.openSync(path);
      file[Symbol.dispose]();
      await file[Symbol.asyncDispose]();
      await collect();
      report([file.closed, liveMappings()]);`;
    expect(await reported(source)).toEqual([[true, 0]]);
  });
});

describe('nothing is left behind', () => {
  it.runIf(linux)('by files that are dropped without close, read ones included', async () => {
    const source = `
      st.openSync(path, { backend: 'read' }).close();
      const before = descriptors();
      for (let i = 0; i < 300; i++) {
        st.openSync(path).tensor('t0').data;
        st.openSync(path, { backend: 'read' }).tensor('t0').data;
      }
      const during = descriptors() - before;
      await collect();
      report([during >= 1, liveMappings(), maps('small.safetensors'), descriptors() - before]);`;
    expect(await reported(source)).toEqual([[true, 0, 0, 0]]);
  });

  it('to abort by: a loop that never lets go gets an error, and then goes on', async () => {
    const source = `
      const { nativeBinding } = await import(${JSON.stringify(LIBRARY.href)});
      const { openSync, closeSync } = await import('node:fs');
      // All but the last 500 without a file around them, which takes a tenth of the time.
      const kept = [];
      const descriptor = openSync(path);
      while (liveMappings() < 32_268) kept.push(nativeBinding().map(descriptor, 4096, true));
      closeSync(descriptor);
      let opened = 0;
      try { for (; opened < 40_000; opened++) { const file = st.openSync(path); kept.push(file.tensor('t0').data); file.close(); } }
      catch (error) { report([error.code, error.syscall, error.message.includes('files are mapped')]); }
      report(opened);
      kept.length = 0;
      await collect();
      report([liveMappings(), st.openSync(path).tensor('t0').data.length]);`;
    expect(await reported(source)).toEqual([['ENOMEM', 'mmap', true], 500, [0, 1024]]);
  });

  it('by files that are refused', async () => {
    const source = `
      writeFileSync(path + '.bad', new Uint8Array(100));
      for (let i = 0; i < 50; i++) {
        try { st.openSync(path + '.bad'); } catch {}
        await st.open(path + '.bad').catch(() => {});
      }
      report(liveMappings());
      st.openSync(path).close();
      const before = ${linux ? 'descriptors()' : '0'};
      for (let i = 0; i < 50; i++) try { st.openSync(path + '.bad'); } catch {}
      report(${linux ? 'descriptors()' : '0'} - before);`;
    expect(await reported(source)).toEqual([0, 0]);
  });
});

describe('a file that changes while it is mapped', () => {
  it.runIf(linux)('truncated in place: a touch beyond its end is SIGBUS, as documented', async () => {
    const source = `
      writeFileSync(path + '.cut', readFileSync(path));
      const file = st.openSync(path + '.cut');
      truncateSync(path + '.cut', 200);
      const { data } = file.tensor('t3');
      report('mapped');
      report(data[1000]);`;
    const ended = await run(source, path);
    expect(ended.reported).toEqual(['mapped']);
    if (SANITIZED) expect(ended.code).toBe(SANITIZER_EXIT);
    else expect(ended.signal).toBe('SIGBUS');
  });

  it("truncated in place: an error with backend 'read'", async () => {
    const source = `
      writeFileSync(path + '.cut2', readFileSync(path));
      const file = st.openSync(path + '.cut2', { backend: 'read' });
      truncateSync(path + '.cut2', 200);
      try { file.tensor('t3').data; } catch (error) { report([error.code, error.tensor]); }`;
    expect(await reported(source)).toEqual([['TRUNCATED_DATA', 't3']]);
  });

  it('replaced or unlinked: the old data stays', async () => {
    const source = `
      writeFileSync(path + '.old', readFileSync(path));
      writeFileSync(path + '.new', 'something else');
      const file = st.openSync(path + '.old');
      renameSync(path + '.new', path + '.old');
      report(file.tensor('t3').data[1023]);
      unlinkSync(path + '.old');
      report(file.tensor('t2').data[0]);`;
    expect(await reported(source)).toEqual([0, 0]);
  });
});

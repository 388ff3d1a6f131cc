// Holds what the `read` backend reads, and how often: one read for all who use a tensor at a time, exact, whatever its
// length; and what the system's refusal becomes. Nothing is mapped here.
import { read, readSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { openModel, openSync } from '../src/index.js';
import { writeSparse } from './lifetime/files.js';
import { counting, fileOf, scratch } from './support/files.js';
import { failureOf } from './support/outcome.js';

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>();
  const { promisify } = await import('node:util');
  const readAsync = vi.fn(promisify(fs.read));
  return { ...fs, readSync: vi.fn(fs.readSync), read: Object.assign(() => {}, { [promisify.custom]: readAsync }) };
});

const { promisify } = await import('node:util');
const reads = vi.mocked(readSync);
const readsAsync = vi.mocked(promisify(read));

const folder = scratch();
afterAll(() => folder.remove());

const path = folder.write(
  'model.safetensors',
  fileOf([
    { name: 'a', dtype: 'U8', shape: [1000] },
    { name: 'b', dtype: 'F32', shape: [64, 1024] },
    { name: 'c', dtype: 'U8', shape: [10, 2 ** 20] },
  ]),
);
const file = openSync(path, { backend: 'read' });
afterAll(() => file.close());
const { dataOffset } = file.header;

/** [position, length] of the reads since the last test. */
const ranges = (spy: { mock: { calls: unknown[][] } }) => spy.mock.calls.map(([, , , length, at]) => [at, length]);

const refusal = (code: string) => Object.assign(new Error(`${code}: refused, read`), { code, syscall: 'read' });

beforeEach(() => {
  reads.mockClear();
  readsAsync.mockClear();
});

describe('a tensor', () => {
  it('is read once, exactly, for all who hold it; what one writes, all see', () => {
    const views = [file.tensor('b'), file.tensor('b'), file.tensor('b').slice(null), file.tensor('b').slice([0, 64])];
    for (const view of views) expect(view.byteLength).toBe(2 ** 18);
    const [first, ...others] = views.map((view) => view.data as Float32Array);
    expect(ranges(reads)).toEqual([[dataOffset + 1000, 2 ** 18]]);
    first![7] = 4.5;
    for (const data of others) expect([data.buffer === first!.buffer, data[7]]).toEqual([true, 4.5]);
    const copy = new Float32Array(64 * 1024);
    file.tensor('b').copyTo(copy);
    expect([copy[7], file.tensor('b').toFloat32Array()[7]]).toEqual([4.5, 4.5]);
    expect(reads).toHaveBeenCalledTimes(1);
  });

  it('that is held is converted off the event loop without another read', async () => {
    const { data } = file.tensor('b');
    reads.mockClear();
    expect(await file.tensor('b').toFloat32()).toEqual(data);
    expect([reads.mock.calls, readsAsync.mock.calls]).toEqual([[], []]);
  });

  it('that is held is not to be converted or copied over itself, as that of a mapping', async () => {
    const data = file.tensor('b').data as Float32Array;
    for (const run of [
      () => file.tensor('b').toFloat32Array(data),
      () => file.tensor('b').toFloat32({ target: data }),
      () => file.tensor('b').copyTo(data),
    ]) {
      expect((await failureOf(run)).code).toBe('INVALID_ARGUMENT');
    }
  });

  it('whose memory was transferred away is read again', () => {
    const view = file.tensor('a');
    expect(view.data).toEqual(counting(1000));
    structuredClone(view.data, { transfer: [view.data.buffer as ArrayBuffer] });
    expect([file.tensor('a').data, view.data]).toEqual([counting(1000), counting(1000)]);
    expect(reads).toHaveBeenCalledTimes(2);
  });

  it('whose memory is transferred away while it is converted is read from there on', async () => {
    const { data } = file.tensor('c');
    const expected = file.tensor('c').toFloat32Array();
    const converting = file.tensor('c').toFloat32();
    structuredClone(data, { transfer: [data.buffer as ArrayBuffer] });
    expect(Buffer.compare(Buffer.from((await converting).buffer), Buffer.from(expected.buffer))).toBe(0);
    expect(readsAsync).toHaveBeenCalled();
  });

  it('is read once for all who convert it at the same time, and not at all ahead of that', async () => {
    const converting = Array.from({ length: 8 }, () => file.tensor('c').toFloat32());
    const results = await Promise.all(converting);
    const seen = ranges(readsAsync) as [number, number][];
    expect(seen.length).toBeLessThanOrEqual(20);
    expect(seen.reduce((sum, [, length]) => sum + length, 0)).toBe(10 * 2 ** 20);
    expect(new Set(seen.map(([at]) => at)).size).toBe(seen.length);
    for (const floats of results) expect(floats.every((value, i) => i >= 1000 || value === results[0]![i])).toBe(true);
  });
});

it('ranges that nobody holds any more do not add up', () => {
  const whole = file.tensor('c');
  for (let i = 0; i < 5000; i++) expect(whole.slice(0, [i, i + 8]).bytes.length).toBe(8);
});

describe('what the system refuses', () => {
  it.each([
    ['EIO', 3],
    ['ESTALE', 4],
  ])('%s is READ_FAILED, with path, tensor and cause', async (code, row) => {
    const cause = refusal(code);
    reads.mockImplementationOnce(() => {
      throw cause;
    });
    const error = await failureOf(() => file.tensor('c').slice(row).bytes);
    expect(error).toMatchObject({ code: 'READ_FAILED', path, tensor: 'c', isFormatError: false });
    expect(error.message).toContain(code);
    expect((error.cause as Error).cause).toBe(cause);
    // Nothing of it is kept.
    expect(file.tensor('c').slice(row).bytes.length).toBe(2 ** 20);
  });

  it('off the event loop too, for everyone who waits, and the next try reads', async () => {
    readsAsync.mockImplementationOnce(async () => {
      throw refusal('EIO');
    });
    const tries = [file.tensor('c').toFloat32(), file.tensor('c').toFloat32()];
    for (const attempt of tries) {
      expect(await failureOf(() => attempt)).toMatchObject({ code: 'READ_FAILED', path, tensor: 'c' });
    }
    expect((await file.tensor('c').toFloat32()).length).toBe(10 * 2 ** 20);
  });

  it('a shard of a model says which file', async () => {
    using model = await openModel(path, { backend: 'read' });
    const tensor = model.tensor('a').slice([1, 99]);
    reads.mockImplementationOnce(() => {
      throw refusal('EIO');
    });
    expect(await failureOf(() => tensor.data)).toMatchObject({ code: 'READ_FAILED', path, tensor: 'a' });
  });
});

it('a tensor of 3 GiB is read in calls of fewer than 2^31 bytes', () => {
  const GiB = 2 ** 30;
  const large = join(folder.path, 'large.safetensors');
  writeSparse(large, { t: { dtype: 'U8', shape: [3 * GiB + 5], byteLength: 3 * GiB + 5 } });
  using sparse = openSync(large, { backend: 'read' });
  reads.mockClear();
  // Says that it has read, and touches none of the memory.
  reads.mockImplementation((...args: unknown[]) => Number(args[3]));
  try {
    expect(sparse.tensor('t').data.length).toBe(3 * GiB + 5);
    const calls = ranges(reads) as [number, number][];
    const begin = sparse.header.dataOffset;
    expect(calls).toEqual([0, 1, 2, 3].map((i) => [begin + i * GiB, i < 3 ? GiB : 5]));
  } finally {
    reads.mockReset();
  }
});

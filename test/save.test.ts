// Owns what save() does to a path: what is there afterwards, and what is there when it fails.
// Refuses crashes and full disks, which need a process of their own; lifetime/save.test.ts has those.

import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import {
  open,
  openModel,
  openSync,
  parse,
  type SaveOptions,
  save,
  saveModel,
  serialize,
  type TensorInputs,
} from '../src/index.js';
import { MOST_PARTS, PIECE_LENGTH } from '../src/piece-writer.js';
import { temporaryName } from '../src/temporary.js';
import { descriptorsIn, makeFifo, scratch } from './support/files.js';
import { codeOf, errorOf, failureOf } from './support/outcome.js';

const folder = scratch();
afterAll(() => folder.remove());

let count = 0;
/** A directory for one test. */
function directory(): string {
  const path = join(folder.path, `d${count++}`);
  mkdirSync(path);
  return path;
}

const posix = process.platform !== 'win32';
const OLD = serialize({ old: new Uint8Array(100) });
const SMALL = { a: Float32Array.of(1, 2), b: Uint8Array.of(3) };

/** Numbers that differ at every place of a few pieces. */
function numbers(length: number, seed = 1): Uint32Array<ArrayBuffer> {
  return Uint32Array.from({ length }, (_, i) => Math.imul(i, 0x9e3779b1) ^ seed);
}

describe('a saved file', () => {
  it('has the bytes that serialize makes, through any mixture of parts', async () => {
    const path = join(directory(), 'x.safetensors');
    const large = numbers(PIECE_LENGTH / 2);
    const length = fc.oneof(fc.integer({ max: 40_000, min: 0 }), fc.integer({ min: 0, max: large.byteLength - 100 }));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(length, fc.integer({ min: 0, max: 99 })), { maxLength: 3 }), async (parts) => {
        const bytes = new Uint8Array(large.buffer);
        const tensors = Object.fromEntries(parts.map(([size, at], i) => [`t${i}`, bytes.subarray(at, at + size)]));
        const expected = serialize(tensors);
        await save(path, tensors);
        expect(Buffer.compare(readFileSync(path), expected)).toBe(0);
        for (const backend of ['mmap', 'read'] as const) {
          // Over itself, while it is open.
          using file = await open(path, { backend });
          await save(path, file);
          expect(Buffer.compare(readFileSync(path), expected)).toBe(0);
        }
        await save(path, parse(expected));
        expect(Buffer.compare(readFileSync(path), expected)).toBe(0);
      }),
      { numRuns: 5 },
    );
    expect(readdirSync(join(path, '..'))).toEqual(['x.safetensors']);
  });

  it('may be of more tensors than fit into one call, and large ones after them', async () => {
    const path = join(directory(), 'x.safetensors');
    const bytes = new Uint8Array(numbers(PIECE_LENGTH / 2).buffer);
    const many = Array.from(
      { length: MOST_PARTS + 3 },
      (_, i) => [`t${i}`, bytes.subarray(i, i + 1 + (i % 30))] as const,
    );
    const tensors = new Map<string, Uint8Array>([...many, ['u', bytes]]);
    const heard: number[] = [];
    const expected = serialize(tensors);
    await save(path, tensors, { onProgress: (written) => heard.push(written) });
    expect(Buffer.compare(readFileSync(path), expected)).toBe(0);
    // Short pieces, and then again one that ends where pieces end.
    expect(heard[0]).toBeLessThan(PIECE_LENGTH);
    expect(heard).toContain(PIECE_LENGTH);
    for (const backend of ['mmap', 'read'] as const) {
      using file = await open(path, { backend });
      await save(`${path}.copy`, file);
      expect(Buffer.compare(readFileSync(`${path}.copy`), expected)).toBe(0);
    }
  });

  it.each<[string, unknown]>([
    ['options', null],
    ['a signal', { signal: {} }],
    ['an onProgress', { onProgress: 1 }],
    ['an atomic', { atomic: 'no' }],
  ])('is not made with %s of another type', async (_, options) => {
    const path = join(directory(), 'x');
    expect(await failureOf(() => save(path, SMALL, options as SaveOptions))).toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    expect(await failureOf(() => saveModel(path, SMALL, options as object))).toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    expect(await failureOf(() => save(1 as unknown as string, SMALL))).toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(readdirSync(join(path, '..'))).toEqual([]);
  });

  it('may be of slices, from either backend', async () => {
    const path = join(directory(), 'x.safetensors');
    await save(path, { x: { shape: [3000, 700], data: numbers(2_100_000) } });
    for (const backend of ['mmap', 'read'] as const) {
      using file = await open(path, { backend });
      const x = file.tensor('x');
      const slices = {
        left: x.slice(null, [0, 300]),
        turned: x.slice([null, null, -1]),
        row: x.slice(7),
        none: x.slice([0, 0]),
      };
      const to = join(folder.path, 'slices');
      await save(to, slices);
      expect(Buffer.compare(readFileSync(to), serialize(slices))).toBe(0);
    }
  });

  it('holds what was written into the views of its source', async () => {
    const path = join(directory(), 'x.safetensors');
    await save(path, SMALL);
    using file = await open(path);
    (file.tensor('a').data as Float32Array)[0] = 9;
    await save(path, file);
    using saved = await open(path);
    expect([...saved.tensor('a').data]).toEqual([9, 2]);
  });

  // Large enough to be read from the file wherever it still says what the mapping does.
  it.each([
    ['nowhere', []],
    ['at its start', [0]],
    ['on both sides of a border of pieces', [PIECE_LENGTH / 4 - 100, PIECE_LENGTH / 4 + 100_000]],
    ['at its end', [PIECE_LENGTH / 2 - 1]],
  ])('holds all of a large tensor, written to %s', async (_, places) => {
    const path = join(directory(), 'x.safetensors');
    const expected = numbers(PIECE_LENGTH / 2);
    await save(path, { x: expected });
    using file = await open(path);
    for (const at of places) {
      (file.tensor('x').data as Uint32Array)[at] = 7;
      expected[at] = 7;
    }
    const copy = join(directory(), 'copy.safetensors');
    await save(copy, file);
    expect(Buffer.compare(readFileSync(copy), serialize({ x: expected }))).toBe(0);
  });

  it.each(['another file has', 'nothing has'])('is of the file that is open, when %s its path', async (which) => {
    const path = folder.write(`source-${count}.safetensors`, serialize({ x: numbers(PIECE_LENGTH / 2) }));
    using file = await open(path);
    renameSync(path, `${path}.moved`);
    if (which === 'another file has') writeFileSync(path, serialize({ x: numbers(PIECE_LENGTH / 2, 2) }));
    const copy = join(directory(), 'copy.safetensors');
    await save(copy, file);
    expect(Buffer.compare(readFileSync(copy), readFileSync(`${path}.moved`))).toBe(0);
  });

  it('leaves the views of the file that it replaces as they are', async () => {
    const path = join(directory(), 'x.safetensors');
    await save(path, { x: numbers(100_000, 1) });
    using file = await open(path);
    const { data } = file.tensor('x');
    await save(path, { x: numbers(100_000, 2) });
    expect(
      Buffer.compare(
        new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
        new Uint8Array(numbers(100_000, 1).buffer),
      ),
    ).toBe(0);
    using saved = await open(path);
    expect(saved.tensor('x').data).toEqual(numbers(100_000, 2));
  });

  it('takes options and URLs', async () => {
    const path = join(directory(), 'x.safetensors');
    await save(pathToFileURL(path), SMALL, { metadata: { format: 'pt' }, alignment: 4096 });
    using file = openSync(path);
    expect([file.metadata.get('format'), file.header.dataOffset]).toEqual(['pt', 4096]);
  });

  it('tells how far it is', async () => {
    const path = join(directory(), 'x.safetensors');
    const heard: [number, number][] = [];
    await save(path, { x: numbers(PIECE_LENGTH) }, { onProgress: (...progress) => heard.push(progress) });
    const total = statSync(path).size;
    expect(heard.map(([written]) => written)).toEqual([1, 2, 3, 4].map((i) => i * PIECE_LENGTH).concat(total));
    expect(heard.every(([, all]) => all === total)).toBe(true);
    await save(path, {}, { onProgress: (...progress) => heard.push(progress) });
    expect(heard.at(-1)).toEqual([16, 16]);
  });
});

describe.runIf(posix)('the path', () => {
  it('gets the mode of the file before, or what umask leaves', async () => {
    const path = join(directory(), 'x.safetensors');
    const before = process.umask(0o027);
    try {
      await save(path, SMALL);
      expect(statSync(path).mode & 0o777).toBe(0o640);
      chmodSync(path, 0o606);
      await save(path, SMALL);
      expect(statSync(path).mode & 0o777).toBe(0o606);
    } finally {
      process.umask(before);
    }
  });

  it('is followed through links, dangling ones too', async () => {
    const home = directory();
    mkdirSync(join(home, 'blobs'));
    writeFileSync(join(home, 'blobs/one'), OLD);
    symlinkSync('blobs/one', join(home, 'link'));
    symlinkSync('link', join(home, 'again'));
    symlinkSync('blobs/two', join(home, 'dangling'));
    symlinkSync('blobs', join(home, 'folder'));
    symlinkSync('../dangling', join(home, 'blobs/up'));
    await save(join(home, 'again'), SMALL);
    await save(join(home, 'folder/up'), SMALL);
    expect([readlinkSync(join(home, 'again')), readlinkSync(join(home, 'dangling'))]).toEqual(['link', 'blobs/two']);
    for (const blob of ['one', 'two']) expect(lstatSync(join(home, 'blobs', blob)).isFile()).toBe(true);
    expect(readFileSync(join(home, 'blobs/one'))).toEqual(Buffer.from(serialize(SMALL)));
    expect(readdirSync(join(home, 'blobs')).sort()).toEqual(['one', 'two', 'up']);
  });

  it('goes up from where a link leads, as for the system', async () => {
    const home = directory();
    mkdirSync(join(home, 'far/away'), { recursive: true });
    symlinkSync('far/away', join(home, 'near'));
    await save(`${home}/near/../x`, SMALL);
    await save(`${home}/near/../y`, SMALL, { atomic: false });
    symlinkSync('../z', join(home, 'far/away/link'));
    await save(`${home}/near/link`, SMALL);
    expect(readdirSync(join(home, 'far')).sort()).toEqual(['away', 'x', 'y', 'z']);
    expect(readdirSync(home).sort()).toEqual(['far', 'near']);
  });

  it('stays the same when the working directory changes', async () => {
    const home = directory();
    const before = process.cwd();
    process.chdir(home);
    const saving = [save('x', SMALL), saveModel('model', SMALL)];
    process.chdir(before);
    await Promise.all(saving);
    expect([readdirSync(home).sort(), readdirSync(join(home, 'model'))]).toEqual([
      ['model', 'x'],
      ['model.safetensors'],
    ]);
  });

  it('never has more rights than the file before, also while it is written', async () => {
    const home = directory();
    const path = join(home, 'x.safetensors');
    writeFileSync(path, OLD);
    chmodSync(path, 0o600);
    const modes = new Set<number>();
    const look = () => {
      for (const name of readdirSync(home)) modes.add(statSync(join(home, name)).mode & 0o777);
    };
    const watcher = watch(home, look);
    await save(path, SMALL, { onProgress: look });
    watcher.close();
    expect([...modes]).toEqual([0o600]);
  });

  it.each([true, false])('is refused when it ends like a directory (atomic: %s)', async (atomic) => {
    const home = directory();
    expect(await codeOf(() => save(`${home}/x/`, SMALL, { atomic }))).toBe('NOT_A_REGULAR_FILE');
    expect(await codeOf(() => save('', SMALL, { atomic }))).toBe('NOT_A_REGULAR_FILE');
    expect(readdirSync(home)).toEqual([]);
  });

  it('is replaced, so that another name of the old file keeps it', async () => {
    const home = directory();
    writeFileSync(join(home, 'x'), OLD);
    linkSync(join(home, 'x'), join(home, 'y'));
    await save(join(home, 'x'), SMALL);
    expect(readFileSync(join(home, 'y'))).toEqual(Buffer.from(OLD));
  });

  it.each([true, false])('is refused when it is no regular file (atomic: %s)', async (atomic) => {
    const home = directory();
    symlinkSync('loop', join(home, 'loop'));
    for (const path of [home, '/dev/null', makeFifo(join(home, 'fifo'))]) {
      expect(await codeOf(() => save(path, SMALL, { atomic }))).toBe('NOT_A_REGULAR_FILE');
    }
    expect(await codeOf(() => save(join(home, 'loop'), SMALL, { atomic }))).toBe('ELOOP');
    expect(readdirSync(home).sort()).toEqual(['fifo', 'loop']);
  });

  it('says which directory is missing', async () => {
    const path = join(directory(), 'missing', 'x.safetensors');
    const error = await errorOf(() => save(path, SMALL));
    expect(error).toMatchObject({ code: 'ENOENT', path, syscall: 'open' });
    expect(error.message).toContain(JSON.stringify(path));
  });

  it('may have a name as long as the system takes', async () => {
    const path = join(directory(), `${'n'.repeat(243)}.safetensors`);
    await save(path, SMALL);
    await save(path, SMALL);
    expect(readFileSync(path)).toEqual(Buffer.from(serialize(SMALL)));
  });
});

describe('a save that fails', () => {
  interface Failure {
    readonly tensors: () => TensorInputs;
    readonly options?: SaveOptions;
    readonly code: string;
  }

  /** Runs one once the first piece is written. */
  const afterFirstPiece = (step: () => void): SaveOptions => {
    let isFirst = true;
    return {
      onProgress: () => {
        if (isFirst) step();
        isFirst = false;
      },
    };
  };

  async function expectFailure({ tensors, options, code }: Failure): Promise<Error> {
    const home = directory();
    const path = join(home, 'x.safetensors');
    writeFileSync(path, OLD);
    const error = await errorOf(() => save(path, tensors(), options));
    expect(error.code).toBe(code);
    expect(readdirSync(home)).toEqual(['x.safetensors']);
    expect(readFileSync(path)).toEqual(Buffer.from(OLD));
    expect(descriptorsIn(home)).toEqual([]);
    return error;
  }

  it('leaves the old file when it is aborted, before or on the way', async () => {
    const controller = new AbortController();
    class Reason extends Error {
      readonly code = 'REASON';
    }
    const onTheWay = afterFirstPiece(() => controller.abort(new Reason()));
    const tensors = () => ({ x: numbers(PIECE_LENGTH) });
    await expectFailure({ tensors, options: { ...onTheWay, signal: controller.signal }, code: 'REASON' });
    await expectFailure({ tensors, options: { signal: controller.signal }, code: 'REASON' });
  });

  it('leaves it when onProgress throws, at the very end too', async () => {
    const failure = Object.assign(new Error('stop'), { code: 'STOP' });
    const onProgress = (written: number, total: number) => {
      if (written === total) throw failure;
    };
    expect(await expectFailure({ tensors: () => SMALL, options: { onProgress }, code: 'STOP' })).toBe(failure);
  });

  it('leaves it when an array is transferred away', async () => {
    const data = numbers(PIECE_LENGTH);
    const options = afterFirstPiece(() => void structuredClone(data.buffer, { transfer: [data.buffer] }));
    const error = await expectFailure({ tensors: () => ({ x: data }), options, code: 'INVALID_TENSOR' });
    expect(error.message).toContain('"x" were transferred away or resized');
  });

  it('leaves it when an array is cut', async () => {
    // Newer than the library's own types.
    const buffer: ArrayBuffer = Reflect.construct(ArrayBuffer, [PIECE_LENGTH * 4, { maxByteLength: PIECE_LENGTH * 4 }]);
    const options = afterFirstPiece(() => Reflect.get(buffer, 'resize').call(buffer, PIECE_LENGTH));
    await expectFailure({ tensors: () => ({ x: new Uint8Array(buffer) }), options, code: 'INVALID_TENSOR' });
  });

  it.each(['mmap', 'read'] as const)('leaves it when a source is closed (%s)', async (backend) => {
    const source = folder.write(`source-${backend}`, serialize({ x: numbers(PIECE_LENGTH) }));
    const file = openSync(source, { backend });
    const error = await expectFailure({
      tensors: () => file,
      options: afterFirstPiece(() => file.close()),
      code: 'CLOSED',
    });
    expect(error).toMatchObject({ tensor: 'x', path: source });
  });

  it('leaves it when the bytes given to parse() are transferred away', async () => {
    const bytes = serialize({ x: numbers(PIECE_LENGTH) });
    const options = afterFirstPiece(() => void structuredClone(bytes.buffer, { transfer: [bytes.buffer] }));
    await expectFailure({ tensors: () => parse(bytes), options, code: 'CLOSED' });
  });

  it.runIf(posix).each(['mmap', 'read'] as const)('leaves it when a source becomes shorter (%s)', async (backend) => {
    const source = folder.write(`cut-${backend}`, serialize({ x: numbers(PIECE_LENGTH * 2) }));
    const file = openSync(source, { backend });
    const options = afterFirstPiece(() => truncateSync(source, PIECE_LENGTH));
    await expectFailure({ tensors: () => file, options, code: 'TRUNCATED_DATA' });
  });

  it('goes on when a user moves a mapped buffer elsewhere, which keeps the mapping', async () => {
    const tensors = { x: numbers(PIECE_LENGTH) };
    const file = openSync(folder.write('moved', serialize(tensors)));
    const buffer = file.tensor('x').bytes.buffer as ArrayBuffer;
    const options = afterFirstPiece(() => {
      try {
        structuredClone(buffer, { transfer: [buffer] });
      } catch {
        // This runtime does not move such memory.
      }
    });
    const path = join(folder.path, 'of-moved');
    await save(path, file, options);
    expect(Buffer.compare(readFileSync(path), serialize(tensors))).toBe(0);
  });
});

describe('in place', () => {
  it('writes the same file, and the same inode', async () => {
    const path = join(directory(), 'x.safetensors');
    writeFileSync(path, OLD);
    const { ino } = statSync(path);
    await save(path, SMALL, { atomic: false });
    expect(readFileSync(path)).toEqual(Buffer.from(serialize(SMALL)));
    expect(statSync(path).ino).toBe(ino);
  });

  it('refuses the file that its tensors come from, by any name', async () => {
    const home = directory();
    const path = join(home, 'x.safetensors');
    writeFileSync(path, OLD);
    linkSync(path, join(home, 'y'));
    using file = openSync(path);
    expect(await failureOf(() => save(join(home, 'y'), file, { atomic: false }))).toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    expect(readFileSync(path)).toEqual(Buffer.from(OLD));
  });

  it('refuses it after it was given another name, and in a model', async () => {
    const home = directory();
    await save(join(home, 'x.safetensors'), SMALL);
    using file = openSync(join(home, 'x.safetensors'));
    using model = await openModel(home);
    const bytes = model.tensor('a').bytes.slice();
    renameSync(join(home, 'x.safetensors'), join(home, 'y'));
    for (const tensors of [file, model]) {
      const error = await failureOf(() => save(join(home, 'y'), tensors, { atomic: false }));
      expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', path: join(home, 'y') });
    }
    expect(file.tensor('a').bytes).toEqual(bytes);
  });

  it('refuses it where its tensors are given as arrays', async () => {
    const path = join(directory(), 'x.safetensors');
    await save(path, SMALL);
    using file = openSync(path);
    const a = file.tensor('a').data;
    expect(await failureOf(() => save(path, { a }, { atomic: false }))).toMatchObject({ code: 'INVALID_ARGUMENT' });
    await save(`${path}.copy`, { a }, { atomic: false });
    expect([...openSync(`${path}.copy`).tensor('a').data]).toEqual([1, 2]);
  });

  it('leaves no file where none was', async () => {
    const path = join(directory(), 'x.safetensors');
    const onProgress = () => {
      throw Object.assign(new Error('stop'), { code: 'STOP' });
    };
    expect(await codeOf(() => save(path, SMALL, { atomic: false, onProgress }))).toBe('STOP');
    expect(readdirSync(join(path, '..'))).toEqual([]);
  });

  it('leaves an empty file when it fails', async () => {
    const path = join(directory(), 'x.safetensors');
    writeFileSync(path, OLD);
    const signal = AbortSignal.abort(Object.assign(new Error('stop'), { code: 'STOP' }));
    expect(await codeOf(() => save(path, SMALL, { atomic: false, signal }))).toBe('STOP');
    expect(statSync(path).size).toBe(OLD.length);
    const onProgress = () => {
      throw signal.reason;
    };
    expect(await codeOf(() => save(path, SMALL, { atomic: false, onProgress }))).toBe('STOP');
    expect(statSync(path).size).toBe(0);
  });
});

describe('leftovers', () => {
  it('are removed when their makers are dead, and nothing else is', async () => {
    const home = directory();
    const name = 'x.safetensors';
    const temporary = temporaryName(name);
    const dead = temporary.replace(`-${process.pid}-`, '-999999999-');
    const elsewhere = dead.replace(/-tmp-[0-9a-f]{8}/, '-tmp-00000000');
    const ancient = elsewhere.replace(/.{12}$/, 'aaaaaaaaaaaa');
    const alive = temporary.replace(`-${process.pid}-`, `-${process.ppid}-`);
    const other = dead.replace('.x.', '.y.');
    const similar = [`${dead}x`, dead.slice(1), `.x.safetensors-tmp-${'0'.repeat(12)}`, `.${name}`];
    const kept = [temporary, elsewhere, alive, other, ...similar, name];
    for (const file of [...kept, dead, ancient]) writeFileSync(join(home, file), '');
    const folderOfThatName = dead.replace(/.{12}$/, 'bbbbbbbbbbbb');
    mkdirSync(join(home, folderOfThatName));
    const longAgo = Date.now() / 1000 - 100_000;
    utimesSync(join(home, ancient), longAgo, longAgo);
    await save(join(home, name), SMALL);
    expect(readdirSync(home).sort()).toEqual([...kept, folderOfThatName].sort());
  });

  it('of an earlier process with this one’s number, as in a container, are removed', async () => {
    const home = directory();
    const own = temporaryName('x');
    writeFileSync(join(home, own), '');
    const before = Date.now() / 1000 - process.uptime() - 60;
    utimesSync(join(home, own), before, before);
    await save(join(home, 'x'), SMALL);
    expect(readdirSync(home)).toEqual(['x']);
  });

  it('do not hinder two saves at once', async () => {
    const home = directory();
    const path = join(home, 'x.safetensors');
    const saves = Array.from({ length: 8 }, (_, i) => save(path, { x: numbers(200_000, i) }));
    await Promise.all(saves);
    expect(readdirSync(home)).toEqual(['x.safetensors']);
    const first = openSync(path).tensor('x').data[0] as number;
    expect(openSync(path).tensor('x').data).toEqual(numbers(200_000, first));
    renameSync(path, `${path}.done`);
  });
});

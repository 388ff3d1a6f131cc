// Owns what saveModel() leaves in a directory: shards and index as the Python ecosystem writes them, and one whole model at
// every moment. Refuses the bytes of one file; serialize.test.ts has those.

import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { openModel, openSync, parse, type SaveModelOptions, save, saveModel, serialize } from '../src/index.js';
import { indexText, parseByteSize, splitByBytes } from '../src/shard-plan.js';
import { ownerTag, temporaryName } from '../src/temporary.js';
import { scratch } from './support/files.js';
import { INDEX } from './support/models.js';
import { codeOf, errorOf, failureOf } from './support/outcome.js';

const folder = scratch();
afterAll(() => folder.remove());

let count = 0;
/** A path for one test; nothing is there yet. */
const fresh = () => join(folder.path, `m${count++}`);

/** Tensors of these sizes, each filled with its own number plus `seed`. */
function tensors(sizes: Readonly<Record<string, number>>, seed = 0): Map<string, Uint8Array> {
  return new Map(Object.entries(sizes).map(([name, size], i) => [name, new Uint8Array(size).fill(i + 1 + seed)]));
}

/** What a reader finds: the first byte of each tensor, by name. */
async function found(path: string): Promise<Record<string, number | undefined>> {
  using model = await openModel(path);
  return Object.fromEntries(Array.from(model, ([name, tensor]) => [name, tensor.bytes[0]] as const).sort());
}

const shards = (n: number, name = 'model') =>
  Array.from({ length: n }, (_, i) => `${name}-0000${i + 1}-of-0000${n}.safetensors`);

describe('the split', () => {
  // What huggingface_hub's split_torch_state_dict_into_shards says of tensors of these sizes, in this order.
  const SIZES = { b: 400, a: 400, big: 1600, c: 200, e: 0, d: 40, f: 600 };
  const REFERENCE: [most: number, groups: string][] = [
    [800, 'big | b a | c e d | f'],
    [600, 'b | big | a c e | d | f'],
    [400, 'b | big | a | f | c e d'],
    [1600, 'b a | big | c e d f'],
    [2000, 'b a | big c e d | f'],
    [2840, 'b a big c e d | f'],
    [3200, 'b a big c e d | f'],
  ];
  const named = Object.entries(SIZES).map(([name, byteLength]) => ({ name, byteLength }));

  it.each(REFERENCE)('at %s bytes is that of the reference', (most, groups) => {
    const split = splitByBytes(named, most).map((group) => group.map(({ name }) => name).join(' '));
    expect(split.join(' | ')).toBe(groups);
  });

  it('loses nothing, and exceeds the limit for one tensor only', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(50)), fc.integer({ min: 1, max: 60 }), (sizes, most) => {
        const list = sizes.map((byteLength, id) => ({ byteLength, id }));
        const groups = splitByBytes(list, most);
        expect(groups.flat().sort((a, b) => a.id - b.id)).toEqual(list);
        for (const group of groups) {
          const bytes = group.reduce((sum, { byteLength }) => sum + byteLength, 0);
          expect(bytes <= most || group.length === 1).toBe(true);
          expect(group.length > 0 || groups.length === 1).toBe(true);
        }
      }),
    );
  });
});

describe('a size', () => {
  it.each<[number | string, number]>([
    ['5GB', 5e9],
    ['5gb', 5e9],
    ['1.5 GB', 1.5e9],
    ['1.0009KB', 1000],
    ['3KiB', 3072],
    ['2GiB', 2 ** 31],
    ['100', 100],
    ['7B', 7],
    [123, 123],
  ])('%s is %s bytes', (text, bytes) => {
    expect(parseByteSize(text)).toBe(bytes);
  });

  it.each([0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, '', '5XB', '-1GB', '0KB', 'GB', '1e3'])(
    '%s is none',
    async (size) => {
      expect(await failureOf(() => parseByteSize(size))).toMatchObject({ code: 'INVALID_ARGUMENT' });
    },
  );
});

describe('a saved model', () => {
  it('is one file where one suffices', async () => {
    const path = fresh();
    await saveModel(join(path, 'made/too'), tensors({ a: 4, b: 5 }), { metadata: { format: 'pt' } });
    expect(readdirSync(join(path, 'made/too'))).toEqual(['model.safetensors']);
    const expected = serialize(tensors({ a: 4, b: 5 }), { metadata: { format: 'pt' } });
    expect(readFileSync(join(path, 'made/too/model.safetensors'))).toEqual(Buffer.from(expected));
  });

  it('keeps the metadata of the model that it is made from, of several shards what all say', async () => {
    const path = fresh();
    const from = join(path, 'kept-from');
    await saveModel(from, tensors({ a: 4, b: 5 }), { metadata: { format: 'pt', step: '1' }, maxShardSize: 4 });
    const second = join(from, 'model-00002-of-00002.safetensors');
    await save(second, openSync(second), { metadata: { format: 'pt', step: '2' } });
    const kept = async (options: SaveModelOptions) => {
      using model = await openModel(from);
      const to = join(path, 'kept-to');
      await saveModel(to, model, options);
      await save(`${to}.safetensors`, model, options);
      const bytes = serialize(model, options);
      using one = openSync(`${to}.safetensors`);
      const headers = [...(await openModel(to)).shards.map(({ header }) => header), one.header, parse(bytes).header];
      return headers.map(({ metadata }) => Object.fromEntries(metadata));
    };
    expect(await kept({ maxShardSize: 4 })).toEqual(Array(4).fill({ format: 'pt' }));
    expect(await kept({ metadata: {} })).toEqual([{}, {}, {}]);
    using file = openSync(second);
    await save(second, file);
    using again = openSync(second);
    expect(Object.fromEntries(again.metadata)).toEqual({ format: 'pt', step: '2' });
    await save(second, new Map(file));
    using dropped = openSync(second);
    expect(dropped.metadata.size).toBe(0);
  });

  it('is shards and an index, with the metadata in each shard', async () => {
    const path = fresh();
    const given = tensors({ b: 6, a: 6, '😀': 3, '\uffff': 3 });
    const heard: number[] = [];
    await saveModel(path, given, {
      maxShardSize: 12,
      metadata: { format: 'pt' },
      onProgress: (written, total) => heard.push(written, total),
    });
    expect(readdirSync(path).sort()).toEqual([...shards(2), INDEX].sort());
    const [first, second] = shards(2);
    expect(readFileSync(join(path, INDEX), 'utf8')).toBe(
      `{\n  "metadata": {\n    "total_size": 18\n  },\n  "weight_map": {\n    "a": "${first}",\n    "b": "${first}",\n` +
        `    "\\uffff": "${second}",\n    "\\ud83d\\ude00": "${second}"\n  }\n}\n`,
    );
    expect(await found(path)).toEqual({ b: 1, a: 2, '😀': 3, '\uffff': 4 });
    using model = await openModel(path);
    for (const { header } of model.shards) expect(header.metadata.get('format')).toBe('pt');
    const total = model.shards.reduce((sum, { header }) => sum + header.byteLength, 0);
    expect(heard).toEqual([model.shards[0]!.header.byteLength, total, total, total]);
  });

  it('may be without tensors, and under another name', async () => {
    const path = fresh();
    await saveModel(path, {}, { name: 'diffusion_pytorch_model' });
    await saveModel(path, tensors({ a: 2, b: 2 }), { name: 'adapter', maxShardSize: 2 });
    const adapter = [...shards(2, 'adapter'), 'adapter.safetensors.index.json'];
    expect(readdirSync(path).sort()).toEqual([...adapter, 'diffusion_pytorch_model.safetensors'].sort());
    expect(parse(readFileSync(join(path, 'diffusion_pytorch_model.safetensors'))).size).toBe(0);
  });

  it('may be saved over itself, in other shards', async () => {
    const path = fresh();
    const sizes = { a: 5, b: 5, c: 5, d: 5 };
    await saveModel(path, tensors(sizes), { maxShardSize: 5 });
    for (const maxShardSize of [10, 10, 5, 100, 5]) {
      using model = await openModel(path);
      await saveModel(path, model, { maxShardSize });
      const n = 20 / Math.min(maxShardSize, 20);
      expect(readdirSync(path).sort()).toEqual(n === 1 ? ['model.safetensors'] : [...shards(n), INDEX].sort());
      expect(await found(path)).toEqual({ a: 1, b: 2, c: 3, d: 4 });
    }
  });

  it('replaces links, and leaves what they lead to', async () => {
    const path = fresh();
    mkdirSync(path);
    const blob = folder.write('blob', 'weights');
    for (const name of ['model.safetensors', ...shards(2), INDEX]) symlinkSync(blob, join(path, name));
    await saveModel(path, tensors({ a: 1, b: 1 }), { maxShardSize: 1 });
    expect(readFileSync(blob, 'utf8')).toBe('weights');
    expect(readdirSync(path).sort()).toEqual([...shards(2), INDEX].sort());
    for (const name of readdirSync(path)) expect(lstatSync(join(path, name)).isFile()).toBe(true);
  });

  it('leaves the files of others', async () => {
    const path = fresh();
    const weights = serialize({ x: Uint8Array.of(1) });
    mkdirSync(path);
    writeFileSync(join(path, 'config.json'), '{}');
    writeFileSync(join(path, 'other.safetensors'), weights);
    writeFileSync(join(path, 'model.fp16.safetensors'), weights);
    writeFileSync(join(path, 'model-00009-of-00009.safetensors'), weights);
    writeFileSync(join(path, 'model-00001-of-00003.safetensors'), weights);
    const named = { x: 'other.safetensors', y: 'model-00001-of-00003.safetensors' };
    writeFileSync(join(path, INDEX), indexText(1, new Map(Object.entries(named))));
    writeFileSync(join(path, 'model.fp16-00001-of-00002.safetensors'), weights);
    writeFileSync(join(path, `model-00001-of-00002.saving-${ownerTag()}.safetensors`), weights);
    mkdirSync(join(path, 'model-00001-of-00008.safetensors'));
    // Of the shards that which the index named, and has a name of this model's.
    const removed = [INDEX, 'model-00001-of-00003.safetensors'];
    const before = readdirSync(path).filter((name) => !removed.includes(name));
    await saveModel(path, tensors({ a: 1 }));
    expect(readdirSync(path).sort()).toEqual([...before, 'model.safetensors'].sort());
  });
});

describe('a save that fails', () => {
  /** The kinds of model that can stand there before, and the kinds that are saved over them. */
  const LIMITS = [100, 10, 5];

  it.each(LIMITS.flatMap((old) => LIMITS.map((next) => [old, next] as const)))(
    'leaves the old model (shards of %s bytes, then %s)',
    async (old, next) => {
      const path = fresh();
      const sizes = { a: 5, b: 5, c: 5, d: 5 };
      await saveModel(path, tensors(sizes), { maxShardSize: old });
      const before = readdirSync(path).sort();
      const onProgress = (written: number, total: number) => {
        if (written === total) throw Object.assign(new Error('stop'), { code: 'STOP' });
      };
      expect(await codeOf(() => saveModel(path, tensors(sizes, 50), { maxShardSize: next, onProgress }))).toBe('STOP');
      expect(readdirSync(path).sort()).toEqual(before);
      expect(await found(path)).toEqual({ a: 1, b: 2, c: 3, d: 4 });
    },
  );

  it.each<[string, SaveModelOptions, string]>([
    ['a size', { maxShardSize: '5XB' }, 'INVALID_ARGUMENT'],
    ['a name', { name: '../model' }, 'INVALID_ARGUMENT'],
    ['an abort', { signal: AbortSignal.abort(Object.assign(new Error(), { code: 'STOP' })) }, 'STOP'],
    ['an alignment', { alignment: 3 }, 'INVALID_ARGUMENT'],
  ])('because of %s makes no directory', async (_, options, code) => {
    const path = fresh();
    expect(await codeOf(() => saveModel(path, tensors({ a: 1 }), options))).toBe(code);
    expect(existsSync(path)).toBe(false);
  });

  it('because of a name in two shards says so', async () => {
    const pairs = [['a', Uint8Array.of(1)] as const, ['a', Uint8Array.of(2)] as const];
    expect(await errorOf(() => saveModel(fresh(), pairs, { maxShardSize: 1 }))).toMatchObject({
      code: 'INVALID_TENSOR',
    });
  });

  it('because a directory or a file is in the way says so', async () => {
    const path = fresh();
    mkdirSync(join(path, INDEX), { recursive: true });
    expect(await codeOf(() => saveModel(path, tensors({ a: 1 })))).toBe('NOT_A_REGULAR_FILE');
    const other = fresh();
    mkdirSync(join(other, 'model.safetensors'), { recursive: true });
    expect(await codeOf(() => saveModel(other, tensors({ a: 1 })))).toBe('NOT_A_REGULAR_FILE');
    expect(await codeOf(() => saveModel(folder.write('file', ''), tensors({ a: 1 })))).toBe('EEXIST');
  });
});

describe('what an interrupted save has left', () => {
  it('is removed by the next one, but for what the index names', async () => {
    const path = fresh();
    await saveModel(path, tensors({ a: 1, b: 1 }), { maxShardSize: 1 });
    const dead = ownerTag().replace(`-${process.pid}-`, '-999999999-');
    const named = `model-00001-of-00002.saving-${dead}.safetensors`;
    const orphan = `model-00002-of-00002.saving-${dead}.safetensors`;
    const temporary = ['model.safetensors', 'model-00003-of-00007.safetensors', INDEX].map((name) =>
      temporaryName(name).replace(`-${process.pid}-`, '-999999999-'),
    );
    const others = [temporaryName('other').replace(`-${process.pid}-`, '-999999999-'), ownerTag()];
    for (const file of [orphan, ...temporary, ...others]) writeFileSync(join(path, file), 'part');
    // As after a crash between the index that names interim shards and the one that names them rightly.
    writeFileSync(join(path, named), readFileSync(join(path, shards(2)[0]!)));
    writeFileSync(
      join(path, INDEX),
      indexText(
        2,
        new Map([
          ['a', named],
          ['b', shards(2)[1]!],
        ]),
      ),
    );
    expect(await found(path)).toEqual({ a: 1, b: 2 });

    const onProgress = () => {
      throw new Error('stop');
    };
    await errorOf(() => saveModel(path, tensors({ a: 1, b: 1 }, 50), { maxShardSize: 1, onProgress }));
    expect(await found(path)).toEqual({ a: 1, b: 2 });
    expect(readdirSync(path).sort()).toEqual([...shards(2), INDEX, named, ...others].sort());

    await saveModel(path, tensors({ a: 1, b: 1 }, 50), { maxShardSize: 1 });
    expect(readdirSync(path).sort()).toEqual([...shards(2), INDEX, ...others].sort());
    expect(await found(path)).toEqual({ a: 51, b: 52 });
  });
});

// Owns models: which files a path leads to, and how shards and index must agree.
// Refuses the text of an index (shard-index.test.ts) and the mapping of shards (model_shards.test.ts).

import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { openModel, type SafeTensorsModel } from '../src/index.js';
import { descriptorsIn, fileOf, makeFifo, scratch } from './support/files.js';
import { directoryOf, INDEX, indexOf, type ModelFiles, tensorOf } from './support/models.js';
import { codeOf, failureOf } from './support/outcome.js';

const folder = scratch();
afterAll(() => folder.remove());
afterEach(() => expect(descriptorsIn(folder.path)).toEqual([]));

const filesOf = (model: SafeTensorsModel) => model.shards.map(({ file }) => file);

describe('a directory', () => {
  it.each<[what: string, files: ModelFiles, found: string]>([
    ['with an index', { [INDEX]: indexOf({ a: 's.safetensors' }), 's.safetensors': ['a'] }, 's.safetensors'],
    ['with an index beside a whole file', { [INDEX]: indexOf({ a: 's' }), s: ['a'], 'model.safetensors': ['b'] }, 's'],
    ['with one file', { 'model.safetensors': ['a'], 'config.json': '{}' }, 'model.safetensors'],
    ['with one file of any name', { 'x y.safetensors': ['a'] }, 'x y.safetensors'],
    [
      'with several, one of the usual name',
      { 'a.safetensors': ['a'], 'model.safetensors': ['a'] },
      'model.safetensors',
    ],
    [
      'of diffusers',
      { 'diffusion_pytorch_model.safetensors': ['a'], 'diffusion_pytorch_model.fp16.safetensors': ['a'] },
      'diffusion_pytorch_model.safetensors',
    ],
    ['of diffusers, sharded', { 'diffusion_pytorch_model.safetensors.index.json': indexOf({ a: 's' }), s: ['a'] }, 's'],
    [
      'with two indexes, one of the usual name',
      { [INDEX]: indexOf({ a: 's' }), 'model.fp16.safetensors.index.json': '{}', s: ['a'] },
      's',
    ],
    [
      'of an adapter',
      { 'adapter_model.safetensors': ['a'], 'optimizer.safetensors': ['a'] },
      'adapter_model.safetensors',
    ],
  ])('%s', async (_, files, found) => {
    const path = directoryOf(folder, files);
    for (const given of [path, `${path}/`, pathToFileURL(path)]) {
      using model = await openModel(given);
      expect(filesOf(model)).toEqual([found]);
      expect([...model.keys()]).toEqual(['a']);
      expect(model.indexPath === undefined).toBe(!Object.keys(files).some((name) => name.endsWith('index.json')));
    }
  });

  it.each<[what: string, files: ModelFiles, message: RegExp]>([
    ['that is empty', {}, /it is empty/],
    [
      'without a file',
      { 'model.bin': '', 'config.json': '{}' },
      /no \*\.safetensors among "config\.json", "model\.bin"/,
    ],
    [
      'with several files',
      { 'x10.safetensors': ['a'], 'x2.safetensors': ['a'] },
      /2 candidates: "x2\.safetensors", "x10\.safetensors"/,
    ],
    ['with several indexes', { 'x.safetensors.index.json': '', 'y.safetensors.index.json': '' }, /2 candidates: "x\./],
    [
      'with very many files',
      Object.fromEntries(Array.from({ length: 40 }, (_, k) => [`${k}.bin`, ''])),
      /"9\.bin" and 30 more/,
    ],
  ])('%s is refused, and the message lists what is there', async (_, files, message) => {
    const path = directoryOf(folder, files);
    const failure = await failureOf(() => openModel(path));
    expect(failure).toMatchObject({ code: 'MODEL_NOT_FOUND', path });
    expect(failure.message).toMatch(message);
  });
});

describe('a path', () => {
  it('to an index or to one shard opens that', async () => {
    const path = directoryOf(folder, { [INDEX]: indexOf({ b: 's-1', a: 's-2' }), 's-1': ['b'], 's-2': ['a'] });
    using model = await openModel(join(path, INDEX));
    expect([...model.keys()]).toEqual(['b', 'a']);
    expect([model.path, model.indexPath]).toEqual([join(path, INDEX), join(path, INDEX)]);
    using shard = await openModel(join(path, 's-1'));
    expect([...shard.keys()]).toEqual(['b']);
    expect(shard.shardOf('b')).toBe('s-1');
  });

  it('through symbolic links, as caches are made of, leads beside the link', async () => {
    const blobs = directoryOf(folder, { '11': indexOf({ a: 's-1', b: 's-2' }), '22': ['a'], '33': ['b'] });
    const snapshot = directoryOf(folder, {});
    for (const [name, blob] of [
      [INDEX, '11'],
      ['s-1', '22'],
      ['s-2', '33'],
    ] as const) {
      symlinkSync(join('..', blobs.slice(folder.path.length + 1), blob), join(snapshot, name));
    }
    const link = `${snapshot}-link`;
    symlinkSync(snapshot, link);
    for (const path of [snapshot, link, join(link, INDEX)]) {
      using model = await openModel(path);
      expect([...model.values()].map(({ name, data }) => [name, data[0]])).toEqual([
        ['a', 1],
        ['b', 1],
      ]);
    }
  });

  it('to an index that is a pipe does not wait', async () => {
    expect(await codeOf(() => openModel(makeFifo(join(directoryOf(folder, {}), INDEX))))).toBe('NOT_A_REGULAR_FILE');
  });
});

describe('index and shards', () => {
  it('give the tensors of the index, shards in natural order, each in order of offset', async () => {
    const path = directoryOf(folder, {
      [INDEX]: indexOf({ z: 'm-10', y: 'm-2', x: 'm-10', w: 'm-2' }),
      'm-10': ['z', 'extra', 'x'],
      'm-2': ['y', 'w'],
    });
    using model = await openModel(path);
    expect(filesOf(model)).toEqual(['m-2', 'm-10']);
    expect([...model.keys()]).toEqual(['y', 'w', 'z', 'x']);
    expect([model.size, [...model].length]).toEqual([4, 4]);
    expect(['y', 'x'].map((name) => model.shardOf(name))).toEqual(['m-2', 'm-10']);
    expect(model.byteLength).toBe(model.shards.reduce((sum, { header }) => sum + header.byteLength, 0));
    expect([...model.metadata]).toEqual([['total_size', '1']]);
    expect(model.has('extra')).toBe(false); // not in the index, so not of the model
    expect(await codeOf(() => model.tensor('extra'))).toBe('TENSOR_NOT_FOUND');
    expect(model.info('x')).toEqual({ dtype: 'U8', shape: [4], data_offsets: [8, 12] });
    expect([model.shards, ...model.shards].every((shard) => Array.isArray(shard) || Object.isFrozen(shard))).toBe(true);
  });

  it('may be of no tensors', async () => {
    using model = await openModel(directoryOf(folder, { [INDEX]: indexOf({}) }));
    expect([model.size, model.byteLength, [...model]]).toEqual([0, 0, []]);
    expect(await codeOf(() => model.tensor('a'))).toBe('TENSOR_NOT_FOUND');
  });

  it.each<[code: string, what: string, files: ModelFiles, message: RegExp, tensor?: string]>([
    [
      'SHARD_MISSING',
      'a shard is missing',
      { [INDEX]: indexOf({ a: 's-1', b: 's-2' }), 's-1': ['a'] },
      /names the shard "s-2", which is not in/,
    ],
    [
      'INVALID_INDEX',
      'a shard lacks a name',
      { [INDEX]: indexOf({ a: 's', b: 's' }), s: ['a'] },
      /tensor "b" should be in shard "s", which lacks it/,
      'b',
    ],
    [
      'INVALID_INDEX',
      'a name is in two shards',
      { [INDEX]: indexOf({ a: 's-1', b: 's-2' }), 's-1': ['a'], 's-2': ['b', 'a'] },
      /tensor "a" is in two shards, "s-1" and "s-2"/,
      'a',
    ],
    [
      'INVALID_INDEX',
      'the index is malformed',
      { [INDEX]: '{"weight_map":{"a":7}}' },
      /shard of tensor "a" is not a string/,
      'a',
    ],
    ['INVALID_INDEX', 'the index is empty', { [INDEX]: '' }, /found the end of the text/],
    [
      'UNSAFE_SHARD_NAME',
      'a shard leads out of the directory',
      { [INDEX]: indexOf({ a: '../model-0/s' }) },
      /"\.\.\/model-0\/s"/,
    ],
    [
      'TRUNCATED_DATA',
      'a shard is damaged',
      { [INDEX]: indexOf({ a: 's' }), s: fileOf([tensorOf('a')]).subarray(0, -1) },
      /1 bytes are missing/,
    ],
    ['HEADER_TOO_SMALL', 'a shard is empty', { [INDEX]: indexOf({ a: 's' }), s: '' }, /the file is empty/],
  ])('give %s when %s', async (code, _, files, message, blamed) => {
    const failure = await failureOf(() => openModel(directoryOf(folder, files)));
    expect(failure.code).toBe(code);
    expect(failure.message).toMatch(message);
    expect(failure.tensor).toBe(blamed);
    expect(failure.path).toContain(folder.path);
    expect(failure.isFormatError).toBe(true);
  });
});

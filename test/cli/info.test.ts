// Owns what `info` counts and prints, from real headers in the temporary directory.
// Refuses processes; exit codes are in main.test.ts.

import { afterAll, describe, expect, it } from 'vitest';
import { collect } from '../../src/cli/collect.js';
import { parametersOf, sizeOf, summaryJson, summaryText } from '../../src/cli/info.js';
import { type Summary, summarize } from '../../src/cli/summary.js';
import { paintFor } from '../../src/cli/terminal.js';
import { fileOf, scratch, UNSAFE, withHeader } from './files.js';

const directory = scratch();
afterAll(directory.remove);

const text = (summary: Summary) => [...summaryText(summary, paintFor({}, {}))].join('');

describe('one file', () => {
  const metadata = { format: 'pt', config: '{"layers":[1,2],"name":"tiny"}', bad: '{', 'esc\u001b': 'x\u009b\ny' };
  const bytes = fileOf(
    [
      { name: 'a', dtype: 'F32', shape: [300, 4] },
      { name: 'b', dtype: 'BF16', shape: [3] },
      { name: 'c', dtype: 'F32', shape: [] },
      { name: 'd', dtype: 'I64', shape: [0] },
      { name: 'e', dtype: 'F4', shape: [2, 2] },
    ],
    { metadata },
  );
  const path = directory.write('one.safetensors', bytes);

  it('is counted by dtype, the most bytes first', async () => {
    const summary = await summarize(path);
    expect(summary).toMatchObject({ path, byteLength: bytes.length, tensors: 5, parameters: 1208, sharded: false });
    expect(summary.dtypes).toEqual([
      ['F32', { tensors: 2, parameters: 1201, byteLength: 4804 }],
      ['BF16', { tensors: 1, parameters: 3, byteLength: 6 }],
      ['F4', { tensors: 1, parameters: 4, byteLength: 2 }],
      ['I64', { tensors: 1, parameters: 0, byteLength: 0 }],
    ]);
    // c begins at 4806; the empty I64 at 4810 has no address.
    expect(summary.files[0]).toMatchObject({ misalignedTensors: 1, headerLength: Number(bytes.readBigUInt64LE()) });
  });

  it('is printed with nested metadata expanded and nothing unprintable', async () => {
    const printed = text(await summarize(path));
    expect(printed).not.toMatch(UNSAFE);
    expect(printed).toContain(`Size        ${sizeOf(bytes.length)}\n`);
    expect(printed).toContain('Tensors     5\nParameters  1,208 (1.21 thousand)\n');
    expect(printed).toContain('a multiple of 8; 1 of 5 tensors not aligned to the element size\n');
    expect(printed).toContain(
      '  config\n    {\n      "layers": [\n        1,\n        2\n      ],\n      "name": "tiny"\n    }\n',
    );
    expect(printed).toContain('  bad        {\n');
    expect(printed).toContain('  esc\\u001b  x\\u009b\\ny\n');
    expect(printed).toContain('F32          2       1,201  4,804\n');
  });

  it('is the same as JSON, with the exact metadata', async () => {
    const document = summaryJson(await summarize(path));
    expect(document).not.toMatch(UNSAFE);
    const value = JSON.parse(document);
    expect(value).toMatchObject({ path, tensors: 5, parameters: 1208, metadata, misalignedTensors: 1 });
    expect(value.dtypes.F32).toEqual({ tensors: 2, parameters: 1201, byteLength: 4804 });
    expect(value).not.toHaveProperty('shards');
  });
});

it('says when the data of an unpadded header begins at no multiple of 8', async () => {
  const json = '{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}';
  const summary = await summarize(directory.write('unpadded.safetensors', withHeader(json, Buffer.alloc(4))));
  expect(text(summary)).toContain('data begins at byte 62, not a multiple of 8; 1 of 1 tensors not aligned');
});

it('prints a file without tensors', async () => {
  const summary = await summarize(directory.write('empty.safetensors', withHeader('{}', Buffer.alloc(0))));
  expect(text(summary)).toBe(
    `Path        ${summary.path}\nSize        10 bytes\nHeader      2 bytes\nTensors     0\nParameters  0\n` +
      'Alignment   data begins at byte 10, not a multiple of 8; every tensor is aligned to the element size\n',
  );
});

describe('a sharded model', () => {
  const shards = scratch();
  afterAll(shards.remove);
  const one = fileOf([{ name: 'a.0', dtype: 'F16', shape: [4] }], { metadata: { format: 'pt' } });
  const two = fileOf([{ name: 'a.1', dtype: 'F16', shape: [8] }], { metadata: { format: 'pt' } });
  shards.write('model-00001-of-00002.safetensors', one);
  shards.write('model-00002-of-00002.safetensors', two);
  const weight_map = { 'a.1': 'model-00002-of-00002.safetensors', 'a.0': 'model-00001-of-00002.safetensors' };
  shards.write('model.safetensors.index.json', JSON.stringify({ metadata: { total_size: 24 }, weight_map }));

  it('is summed over its shards', async () => {
    const summary = await summarize(shards.path);
    expect(summary).toMatchObject({ byteLength: one.length + two.length, tensors: 2, parameters: 12, sharded: true });
    const printed = text(summary);
    expect(printed).toContain('Shards      2\n');
    expect(printed).toContain(
      'data begins at a multiple of 8 in 2 of 2 shards; every tensor is aligned to the element size\n',
    );
    expect(printed).toContain('Metadata of the index\n  total_size  24\n');
    expect(printed).toContain('Metadata of every shard\n  format  pt\n');
    expect(printed).toMatch(/^model-00002-of-00002\.safetensors +1 /m);
  });

  it('leaves out what the index leaves out, and says so', async () => {
    const partial = scratch();
    partial.write(
      'model-1.safetensors',
      fileOf([
        { name: 'a', dtype: 'F32', shape: [2] },
        { name: 'b', dtype: 'F64', shape: [2] },
      ]),
    );
    partial.write('model.safetensors.index.json', JSON.stringify({ weight_map: { a: 'model-1.safetensors' } }));
    const summary = await summarize(partial.path);
    expect(summary).toMatchObject({ tensors: 1, unlistedTensors: 1, parameters: 2, sharded: true });
    expect(text(summary)).toContain('Tensors     1, and 1 that the index leaves out\n');
    const listing = await collect(partial.path, () => true);
    expect(listing).toMatchObject({ total: 1, sharded: true, rows: [{ name: 'a', shard: 'model-1.safetensors' }] });
    partial.remove();
  });

  it('lists its shards in JSON', async () => {
    const value = JSON.parse(summaryJson(await summarize(shards.path)));
    expect(value.shards).toHaveLength(2);
    expect(value.shards[1]).toMatchObject({
      file: 'model-00002-of-00002.safetensors',
      tensors: 1,
      metadata: { format: 'pt' },
    });
    expect(value).not.toHaveProperty('headerLength');
  });
});

it('scales sizes and counts', () => {
  expect([0, 1, 1023, 1024, 1239748, 1024 ** 2 - 1, 1024 ** 5 * 2000].map(sizeOf)).toEqual([
    '0 bytes',
    '1 byte',
    '1,023 bytes',
    '1,024 bytes (1.00 KiB)',
    '1,239,748 bytes (1.18 MiB)',
    '1,048,575 bytes (1.00 MiB)',
    '2,251,799,813,685,248,000 bytes (2000.00 PiB)',
  ]);
  expect([999, 1000, 309633, 999_999, 8_030_261_248].map(parametersOf)).toEqual([
    '999',
    '1,000 (1.00 thousand)',
    '309,633 (309.63 thousand)',
    '999,999 (1.00 million)',
    '8,030,261,248 (8.03 billion)',
  ]);
});

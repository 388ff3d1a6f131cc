// Whether opening depends on the size of the data, and what a view costs.
//
//   node --expose-gc benchmarks/open/run.mjs
//
// The files are sparse: the same header of 300 tensors before 8 MiB and before 8 GiB of data, and one of 18,432 tensors.
// Interleaved in one process; medians, and the ratio as the median of pairs.

import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { openSync as openFile } from '../../dist/index.js';

const ROUNDS = 401;
const folder = mkdtempSync(join(tmpdir(), 'safetensors-bench-'));

/** A file of `count` F32 tensors that share `byteLength` bytes of zeros. */
function makeSparse(name, count, byteLength) {
  const path = join(folder, name);
  const each = Math.floor(byteLength / count / 4) * 4;
  const entries = Array.from({ length: count }, (_, i) => {
    const offsets = [i * each, (i + 1) * each].map((offset) => String(offset).padStart(10));
    const shape = String(each / 4).padStart(8);
    return `"model.layers.${i}.mlp.down_proj.weight":{"dtype":"F32","shape":[${shape}],"data_offsets":[${offsets}]}`;
  });
  const text = `{${entries.join(',')}}`;
  const header = Buffer.from(text.padEnd(Math.ceil(text.length / 8) * 8));
  const prefix = Buffer.alloc(8);
  prefix.writeBigUInt64LE(BigInt(header.length));
  const descriptor = openSync(path, 'w');
  writeSync(descriptor, Buffer.concat([prefix, header]));
  ftruncateSync(descriptor, 8 + header.length + each * count);
  closeSync(descriptor);
  return path;
}

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

function microseconds(work) {
  const start = process.hrtime.bigint();
  work();
  return Number(process.hrtime.bigint() - start) / 1e3;
}

try {
  const small = makeSparse('small.safetensors', 300, 8 * 2 ** 20);
  const large = makeSparse('large.safetensors', 300, 8 * 2 ** 30);
  const openAndClose = (path) => microseconds(() => openFile(path).close());
  const times = { small: [], large: [] };
  const ratios = [];
  for (let round = -50; round < ROUNDS; round++) {
    const first = round % 2 === 0 ? small : large;
    const one = openAndClose(first);
    const two = openAndClose(first === small ? large : small);
    if (round < 0) continue; // the compiler is warming up
    const [s, l] = first === small ? [one, two] : [two, one];
    times.small.push(s);
    times.large.push(l);
    ratios.push(l / s);
  }
  const ratio = median(ratios);
  console.log(
    `open and close, 300 tensors: 8 MiB ${median(times.small).toFixed(1)} µs, 8 GiB ${median(times.large).toFixed(1)} µs, ` +
      `ratio ${ratio.toFixed(3)} (goal 0.8 to 1.2)`,
  );

  const many = makeSparse('many.safetensors', 18_432, 18_432 * 1024);
  const each = [];
  const named = [];
  for (let round = -20; round < 60; round++) {
    globalThis.gc?.();
    const file = openFile(many);
    const names = [...file.keys()];
    const buffers = new Set();
    let elements = 0;
    const all = microseconds(() => {
      for (const tensor of file.values()) elements += tensor.data.length;
    });
    const byName = microseconds(() => {
      for (let i = 0; i < names.length; i++) elements += file.tensor(names[i]).data.length;
    });
    for (const tensor of file.values()) buffers.add(tensor.data.buffer);
    if (elements !== 2 * 18_432 * 256 || buffers.size !== 1) throw new Error('wrong views');
    file.close();
    if (round < 0) continue;
    each.push(all / names.length);
    named.push(byName / names.length);
  }
  console.log(
    `18,432 views: ${median(each).toFixed(3)} µs each in a walk, ${median(named).toFixed(3)} µs each by name ` +
      `(goal 0.5), 1 buffer in all, 0 bytes copied`,
  );
  if (ratio < 0.8 || ratio > 1.2 || median(each) > 0.5 || median(named) > 0.5) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true });
}

// Owns case 2: from a path to the first tensor of a large model, with the model in memory already.
// Refuses a cold disk: that is case 3.
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { equalTensors, makeFile, tensorOf } from '../harness/files.mjs';

export const number = 2;
export const title = 'Open and the first tensor of a large model';

const MiB = 2 ** 20;
const SHARDS = 4;
const NORM = 16 * 1024;

/**
 * A model of four shards with an index. The first tensor is a small one.
 * @param {import('../harness/run-case.mjs').Context['workspace']} workspace
 * @param {string} name
 * @param {number} byteLength
 * @param {number} [each] bytes of the other tensors
 */
export function makeModel(workspace, name, byteLength, each = 32 * MiB) {
  const directory = workspace.path(name);
  mkdirSync(directory);
  const count = byteLength / SHARDS / each;
  /** @type {Record<string, string>} */
  const weights = {};
  const shards = Array.from({ length: SHARDS }, (_, k) => {
    const file = `model-0000${k + 1}-of-0000${SHARDS}.safetensors`;
    const norms = equalTensors(1, NORM, `shards.${k}.norms`);
    const wanted = [...norms, ...equalTensors(count, each, `shards.${k}.layers`)];
    for (const tensor of wanted) weights[tensor.name] = file;
    return makeFile(path.join(directory, file), wanted);
  });
  const index = path.join(directory, 'model.safetensors.index.json');
  writeFileSync(index, JSON.stringify({ metadata: { total_size: byteLength }, weight_map: weights }));
  return { directory, shards };
}

/** @param {import('../harness/run-case.mjs').Context} context */
export async function* races({ commands, workspace, quick, faults }) {
  const size = quick ? 512 * MiB : 8192 * MiB;
  const large = makeModel(workspace, 'large', size);
  // As many tensors, a thousandth of their size: the headers are alike.
  const small = makeModel(workspace, 'small', size / 1024, (32 * MiB) / 1024);
  /** @param {ReturnType<typeof makeModel>} made */
  const of = ({ directory, shards }) => {
    const shard = /** @type {import('../harness/files.mjs').Made} */ (shards[0]);
    const { name, begin, end } = tensorOf(shard, 0);
    const paths = shards.map((one) => one.path);
    return { directory, file: shard.path, name, begin, length: end - begin, headerLength: shard.headerLength, paths };
  };
  const model = of(large);
  const inside = { rounds: 201, warm: 100 };
  const args = { path: model.file, name: model.name };
  yield {
    key: 'model',
    title: `${size / 2 ** 30} GiB in four shards, in memory`,
    unit: 'ns',
    state: await faults(model.file),
    contenders: [
      commands.javascript('openModel', 'ours', 'firstTensor', { path: model.directory, name: model.name, ...inside }),
      commands.javascript('open of the shard', 'ours', 'firstTensor', { ...args, ...inside }),
      commands.javascript('openSync of the shard', 'ours', 'firstTensorSync', { ...args, ...inside }),
      commands.javascript('fs.read of the tensor', 'reading', 'firstTensor', { ...args, ...inside }),
      commands.python('Python safe_open', 'firstTensor', args),
      commands.limit('C open, mmap, munmap', 'first-tensor', model.file, model.headerLength, model.begin, NORM, 201),
    ],
    goals: [
      {
        text: 'first tensor, times as fast as Python',
        subject: 'openSync of the shard',
        against: 'Python safe_open',
        rate: true,
        atLeast: 1,
      },
    ],
  };
  const tiny = of(small);
  const beside = `A shard of ${size / SHARDS / MiB} MiB beside one of ${size / 1024 / SHARDS / 1024} KiB with as many tensors`;
  const growth = (/** @type {string} */ name, /** @type {typeof model} */ { file, name: tensor }) =>
    commands.javascript(name, 'ours', 'firstTensorSync', { path: file, name: tensor, ...inside });
  yield {
    key: 'growth',
    title: beside,
    unit: 'ns',
    different: true,
    contenders: [growth('large', model), growth('small', tiny)],
    goals: [
      {
        text: 'the first tensor of a large file, in parts of a small one',
        subject: 'large',
        against: 'small',
        atMost: 1.2,
        headline: true,
      },
      { text: 'the first tensor in all, header included, in ns', subject: 'large', atMost: 200_000, headline: true },
    ],
  };
  // Each in a process that has opened nothing but the small file: as a server meets its model, once.
  const once = (/** @type {string} */ name, /** @type {typeof model} */ { file, name: tensor }) =>
    commands.javascript(name, 'ours', 'oneTensor', { path: file, name: tensor, warm: tiny.file, warmName: tiny.name });
  yield {
    key: 'growth-once',
    title: `${beside}, for the first time in a process`,
    unit: 'ns',
    different: true,
    contenders: [once('large', model), once('small', tiny)],
  };
  const where = { path: model.file, offset: model.begin, length: model.length };
  yield {
    key: 'reading',
    title: 'The same by reading the file',
    unit: 'ns',
    rounds: 1,
    fewer: 'each sample reads a whole file or fails at once',
    contenders: [
      commands.javascript('openModel', 'ours', 'firstTensor', {
        path: model.directory,
        name: model.name,
        rounds: 1,
        warm: 0,
      }),
      commands.javascript('fs.readFile', 'reading', 'wholeFile', where),
      commands.javascript('fs.read of everything', 'reading', 'everything', {
        paths: model.paths,
        length: model.length,
      }),
      commands.peer('safetensors', 'firstTensor', args),
      commands.peer('@jax-js/loaders', 'firstTensor', args),
      commands.peer('@ruvector/ruvllm', 'firstTensor', args),
    ],
  };
}

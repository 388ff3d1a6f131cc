// Owns the packages from npm that read safetensors, each used as its documentation has it.
// Refuses to help them: what a package cannot do is its result.
import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';

import { inRounds, now, planOf, sumWords, warmUp } from './clock.mjs';
import { read } from './loops.mjs';

/** How each package gets from a path to its tensors' bytes. All of them want the whole file in memory. */
const LOADERS = {
  safetensors: async () => {
    const { SafeTensor } = await import('safetensors/dist/safetensors.es.js');
    return (path) => {
      const file = new SafeTensor(new Uint8Array(readFileSync(path).buffer));
      const names = [...file.metadata.keys()].filter((name) => name !== '__metadata__');
      return { names, bytesOf: (name) => file.getTensor(name) };
    };
  },
  '@jax-js/loaders': async () => {
    const { safetensors } = await import('@jax-js/loaders');
    return (path) => {
      const { tensors } = safetensors.parse(readFileSync(path));
      return { names: Object.keys(tensors), bytesOf: (name) => tensors[name].data };
    };
  },
  '@ruvector/ruvllm': async () => {
    const { SafeTensorsReader } = await import('@ruvector/ruvllm');
    return (path) => {
      const reader = new SafeTensorsReader(readFileSync(path));
      return { names: reader.getTensorNames(), bytesOf: (name) => reader.getTensor(name).data };
    };
  },
};

/** The names of a file, by the header reader of @huggingface/hub; its requests are answered from the file. */
export async function list({ path, ...rest }) {
  const { parseSafetensorsMetadata } = await import('@huggingface/hub');
  return inRounds(planOf(rest), async () => {
    const start = now();
    const descriptor = openSync(path);
    const { size } = fstatSync(descriptor);
    const fetch = (_url, { headers } = {}) => {
      const [, first, last] = /bytes=(\d+)-(\d+)/.exec(new Headers(headers).get('range'));
      const bytes = Buffer.allocUnsafeSlow(Math.min(Number(last) + 1, size) - Number(first));
      readSync(descriptor, bytes, 0, bytes.length, Number(first));
      const range = `bytes ${first}-${Number(first) + bytes.length - 1}/${size}`;
      return Promise.resolve(
        new Response(bytes, {
          status: 206,
          headers: { 'content-range': range, 'content-length': String(bytes.length), etag: '"1"' },
        }),
      );
    };
    const { header } = await parseSafetensorsMetadata({ repo: 'a/b', path: 'model.safetensors', fetch });
    closeSync(descriptor);
    let checksum = 0;
    for (const name of Object.keys(header)) if (name !== '__metadata__') checksum += name.length;
    return { checksum, ns: now() - start };
  });
}

/** The first tensor of a file. */
export async function firstTensor({ peer, path, name }) {
  const load = await LOADERS[peer]();
  const start = now();
  const checksum = sumWords(load(path).bytesOf(name), 64);
  return { value: now() - start, checksum };
}

/** Every tensor and its first word. */
export async function views({ peer, path, ...rest }) {
  const load = await LOADERS[peer]();
  return inRounds(planOf(rest), () => {
    const start = now();
    const { names, bytesOf } = load(path);
    let checksum = 0;
    for (const name of names) {
      const data = bytesOf(name);
      checksum = (checksum + new Uint32Array(data.buffer, data.byteOffset, 1)[0]) | 0;
    }
    return { checksum, ns: now() - start };
  });
}

/** Every tensor, one word in each `step` bytes. */
export async function pass({ peer, path, step }) {
  const load = await LOADERS[peer]();
  warmUp();
  const start = now();
  const { names, bytesOf } = load(path);
  let checksum = 0;
  for (const name of names) checksum = (checksum + sumWords(bytesOf(name), step)) | 0;
  return { value: now() - start, checksum };
}

/** The package's Float16Array, read as Float32Array does. Slow: its elements are read one by one. */
export async function convert({ fresh = false, path, begin, end, ...rest }) {
  const { Float16Array } = await import('@petamoriken/float16');
  const source = new Float16Array(read({ path, begin, end }).buffer);
  const reused = new Float32Array(source.length).fill(1);
  return inRounds(planOf(rest), () => {
    const start = now();
    const target = fresh ? new Float32Array(source.length) : reused;
    target.set(source);
    const ns = now() - start;
    return { checksum: sumWords(target, 64), ns };
  });
}

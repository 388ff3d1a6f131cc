// Owns the library's side of each race, used as its README tells users to.
// Refuses anything internal to it, except the choice of a kernel and the reader of headers alone.
import { nativeBinding } from '../../dist/binding.js';
import { open, openModel, openSync, readHeader, save } from '../../dist/index.js';
import { inRounds, now, planOf, sumWords, warmUp } from './clock.mjs';

/** Opening, listing every name, closing. `list` false: opening and closing. */
export function list({ path, list: listing = true, ...rest }) {
  return inRounds(planOf(rest), () => {
    const start = now();
    const file = openSync(path);
    let checksum = 0;
    if (listing) for (const name of file.keys()) checksum += name.length;
    file.close();
    const ns = now() - start;
    if (!listing) for (const name of file.header.keys()) checksum += name.length;
    return { checksum, ns };
  });
}

/** Bytes that the header of a file keeps alive. */
export async function retained({ path }) {
  const { collect, usage } = memory();
  collect();
  const before = usage();
  const header = await readHeader(path);
  collect();
  return { value: usage() - before, checksum: header.size };
}

/** How the memory of this process is counted. */
export function memory() {
  return {
    collect() {
      for (let i = 0; i < 3; i++) globalThis.gc();
    },
    usage() {
      const { heapUsed, arrayBuffers } = process.memoryUsage();
      return heapUsed + arrayBuffers;
    },
  };
}

/** Opening a file or a directory, every cache line of its first tensor, closing. */
export function firstTensor({ path, name, ...rest }) {
  return inRounds(planOf(rest), async () => {
    const start = now();
    const file = await (path.endsWith('.safetensors') ? open(path) : openModel(path));
    const checksum = sumWords(file.tensor(name).bytes, 64);
    file.close();
    return { checksum, ns: now() - start };
  });
}

/** The same on this thread. */
export function firstTensorSync({ path, name, ...rest }) {
  return inRounds(planOf(rest), () => {
    const file = openSync(path);
    const checksum = sumWords(file.tensor(name).bytes, 64);
    file.close();
    return { checksum };
  });
}

/** A small tensor of a file that is not in memory; the code is warm, the file is not. */
export async function oneTensor({ path, warm, warmName, name, backend, prefetch = false }) {
  const run = async (file, tensor) => {
    const start = now();
    const opened = openSync(file, { backend });
    if (prefetch) await opened.prefetch([tensor]);
    const checksum = sumWords(opened.tensor(tensor).data, 64);
    opened.close();
    return { value: now() - start, checksum };
  };
  for (let i = 0; i < 100; i++) await run(warm, warmName);
  return run(path, name);
}

/** A view of every tensor and its first word, from opening to closing. */
export function views({ path, how, only = false, ...rest }) {
  return inRounds(planOf(rest), () => {
    const start = now();
    const file = openSync(path);
    const names = only ? [...file.keys()] : file.keys();
    const from = only ? now() : start;
    let checksum = 0;
    let length = 0;
    if (only) {
      // Nothing but the making of views: the words are read after the clock.
      if (how === 'walk') for (const tensor of file.values()) length += tensor.data.length;
      else for (const name of names) length += file.tensor(name).data.length;
    } else if (how === 'walk') {
      for (const tensor of file.values()) checksum = (checksum + firstWord(tensor.bytes)) | 0;
    } else {
      for (const name of names) checksum = (checksum + firstWord(file.tensor(name).bytes)) | 0;
    }
    const ns = (now() - from) / (only ? file.size : 1);
    if (only) {
      checksum = length;
      const buffers = new Set();
      for (const tensor of file.values()) {
        if (!tensor.isView) throw new Error('a copy');
        buffers.add(tensor.data.buffer);
      }
      if (buffers.size !== 1) throw new Error(`${buffers.size} buffers`);
    }
    if (!only) file.close();
    const total = now() - start;
    if (only) file.close();
    return { checksum, ns: only ? ns : total };
  });
}

/** The first word of a tensor, little endian. */
export function firstWord(bytes) {
  return bytes[0] | (bytes[1] << 8) | (bytes[2] << 16) | (bytes[3] << 24);
}

/** From opening to all of a file being in memory. What was loaded is added up after the clock. */
export async function load({ path, step }) {
  warmUp();
  const { watch } = await import('./pauses.mjs');
  const { stop } = await watch();
  const start = now();
  const file = await open(path);
  await file.prefetch();
  const value = now() - start;
  const extra = stop();
  let checksum = 0;
  for (const tensor of file.values()) checksum = (checksum + sumWords(tensor.bytes, step)) | 0;
  file.close();
  return { value, checksum, extra };
}

/** Every tensor of some files, one word in each `step` bytes. */
export async function pass({ paths, step, backend, prefetch = false }) {
  warmUp();
  const start = now();
  let checksum = 0;
  for (const path of paths) {
    const file = await open(path, { backend });
    if (prefetch) await file.prefetch();
    for (const tensor of file.values()) checksum = (checksum + sumWords(tensor.bytes, step)) | 0;
    file.close();
  }
  return { value: now() - start, checksum };
}

/** The first columns of a matrix, into memory that is used again. */
export function columns({ path, name, part, fresh = false, ...rest }) {
  let target;
  return inRounds(planOf(rest), () => {
    const start = now();
    const file = openSync(path);
    const tensor = file.tensor(name);
    const slice = tensor.slice(null, [0, tensor.shape[1] / part]);
    let data;
    if (fresh) {
      data = slice.bytes;
    } else {
      target ??= new Uint8Array(slice.byteLength).fill(1);
      slice.copyTo(target);
      data = target;
    }
    file.close();
    const ns = now() - start;
    return { checksum: sumWords(data, 64), ns };
  });
}

/** Every element as float32, from the mapping; the file stays open over the rounds. */
export async function convert({ path, name, fresh = false, kernel, ...rest }) {
  if (kernel !== undefined) nativeBinding().setKernel(kernel);
  const file = openSync(path);
  const tensor = file.tensor(name);
  const target = fresh ? undefined : new Float32Array(tensor.length).fill(1);
  const result = await inRounds(planOf(rest), () => {
    const start = now();
    const floats = tensor.toFloat32Array(target);
    const ns = now() - start;
    // Walking through it takes longer than filling it: once, where all rounds fill the same.
    return { checksum: fresh ? sumWords(floats, 64) : 0, ns };
  });
  file.close();
  return target === undefined ? result : { ...result, checksum: sumWords(target, 64) };
}

/** Saves an open file under another name. */
export async function saveCopy({ from, to }) {
  const start = now();
  const file = await open(from);
  await save(to, file);
  file.close();
  return { value: now() - start, checksum: 0 };
}

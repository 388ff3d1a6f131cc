// Owns how much memory processes take that use the same file at once: by mapping it, or by reading it.
// Refuses Rss, which counts shared pages in each of them: Pss divides a page among those that have it.
import { fork } from 'node:child_process';
import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { sumWords } from './clock.mjs';

const SELF = fileURLToPath(import.meta.url);

/** Bytes of a field over all mappings of a process. */
function rollup(pid, field) {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(text)[1]) * 1024;
}

/** The next message of a child. */
function answer(child) {
  return new Promise((resolve, reject) => {
    child.once('message', resolve);
    child.once('exit', (status, signal) => reject(new Error(`a process ended early: ${status ?? signal}`)));
  });
}

/** So many processes load the same files; the value is the largest share of memory, in parts of size / count. */
export async function share({ paths, size, count, how }) {
  const children = Array.from({ length: count }, () => fork(SELF, [how, JSON.stringify(paths)]));
  try {
    await Promise.all(children.map(answer));
    const before = children.map(({ pid }) => [rollup(pid, 'Pss'), rollup(pid, 'Private_Dirty')]);
    const loaded = children.map((child) => {
      child.send('load');
      return answer(child);
    });
    const sums = await Promise.all(loaded);
    const grown = children.map(({ pid }, i) => ({
      pss: rollup(pid, 'Pss') - before[i][0],
      dirty: rollup(pid, 'Private_Dirty') - before[i][1],
    }));
    if (new Set(sums).size !== 1) throw new Error('processes disagree');
    const pss = Math.max(...grown.map((one) => one.pss));
    const dirtyMiB = Math.max(...grown.map((one) => one.dirty)) / 2 ** 20;
    return { value: (pss * count) / size, checksum: sums[0], extra: { dirtyMiB, pssMiB: pss / 2 ** 20 } };
  } finally {
    for (const child of children) child.kill();
  }
}

const LOADERS = {
  async mmap(paths) {
    const { open } = await import('../../dist/index.js');
    return {
      load: () => Promise.all(paths.map((path) => open(path))),
      dataOf: (file) => [...file.values()].map((tensor) => tensor.bytes),
    };
  },
  async read(paths) {
    const whole = (path) => {
      const descriptor = openSync(path);
      const bytes = Buffer.allocUnsafeSlow(fstatSync(descriptor).size);
      for (let at = 0; at < bytes.length; )
        at += readSync(descriptor, bytes, at, Math.min(2 ** 30, bytes.length - at), at);
      closeSync(descriptor);
      return bytes;
    };
    const dataOf = (bytes) => [bytes.subarray(8 + Number(bytes.readBigUInt64LE()))];
    return { load: async () => paths.map(whole), dataOf };
  },
};

async function beChild(how, paths) {
  // A parent that dies takes its children with it.
  process.on('disconnect', () => process.exit());
  const { load, dataOf } = await LOADERS[how](paths);
  sumWords(new Uint8Array(4096), 4096);
  let kept;
  process.on('message', async () => {
    kept = await load();
    let sum = 0;
    for (const file of kept) for (const data of dataOf(file)) sum = (sum + sumWords(data, 4096)) | 0;
    process.send(sum);
  });
  process.send('ready');
}

if (process.argv[1] === SELF) await beChild(process.argv[2], JSON.parse(process.argv[3]));

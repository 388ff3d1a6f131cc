// What saving costs beside cp and fsync: throughput, private memory, turns of the event loop, and the pages that the new
// file is left in.
//
//   node benchmarks/save/run.mjs [GiB [directory [rounds]]]
//
// A file of BF16 matrices with small norms between them is made, then saved from its mapping and copied by cp in turns,
// each in a process of its own, both flushed to the disk. 8 GiB and three rounds by default, in the system's temporary
// directory; three times as much room is needed.
//
// Two controls tell what is the machine's: a process that does nothing has its turns measured during each save, and the
// faults are counted in a file of the same size that was written in plain aligned pieces of 8 MiB, too. Both rise on a machine that
// is busy or whose memory is in small pieces. And as much memory as is going to be needed is touched before each run: a virtual
// machine gives large free pages back to its host, and whoever takes them next waits for the host; that would be save(),
// never cp, which takes small ones.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, fsyncSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';

import { open, save } from '../../dist/index.js';
import { MappedSource } from '../../dist/mapping.js';

const [, script, first = '8', directory = tmpdir(), rounds = '3'] = process.argv;
const MiB = 2 ** 20;
const GiB = 2 ** 30;

const jobs = { make, save: saveOnce, copy, plain, faults, idle, touch };

/** Runs one job of this file in a process of its own; returns what it prints. */
function job(name, ...args) {
  const { stdout, stderr, status } = spawnSync(process.execPath, [script, name, ...args], {
    encoding: 'utf8',
    maxBuffer: 64 * MiB,
  });
  if (status !== 0) throw new Error(`${name} failed: ${stderr}`);
  return JSON.parse(stdout);
}

/** A model of so many GiB, which is itself written by save(). */
async function make(path, size) {
  const bytes = Number(size) * GiB;
  const matrix = new Uint16Array((96 * MiB) / 2 + 1024);
  for (let i = 0; i < matrix.length; i++) matrix[i] = Math.imul(i, 0x9e3779b1) >>> 16;
  const tensors = new Map();
  for (let done = 0, layer = 0; done < bytes; layer++) {
    const shape = [Math.min(matrix.byteLength - 2048, bytes - done) / 2];
    const data = matrix.subarray(layer % 1024, (layer % 1024) + shape[0]);
    tensors.set(`layers.${layer}.norm`, { dtype: 'BF16', data: matrix.subarray(layer, layer + 4096) });
    tensors.set(`layers.${layer}.weight`, { dtype: 'BF16', shape, data });
    done += shape[0] * 2;
  }
  await save(path, tensors);
  return {};
}

function status(field) {
  const found = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync('/proc/self/status', 'utf8'));
  return Number(found[1]) * 1024;
}

/** The longest turn of a process that only waits, in milliseconds, until its input ends. */
async function idle() {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  console.log('"ready"');
  process.stdin.resume();
  await once(process.stdin, 'end');
  return delay.max / 1e6 - 1;
}

/** Has the host provide so many bytes of free memory. */
async function touch(bytes) {
  const kept = [];
  for (let left = Number(bytes); left > 0; left -= GiB) kept.push(Buffer.alloc(GiB, 1));
  return { buffers: kept.length };
}

/** The same bytes as another file, as any program would write them. */
async function plain(size, to) {
  const piece = Buffer.alloc(8 * MiB, 7);
  const descriptor = openSync(to, 'w');
  for (let at = 0; at < Number(size); at += piece.length) {
    writeSync(descriptor, piece, 0, Math.min(piece.length, size - at), at);
  }
  fsyncSync(descriptor);
  closeSync(descriptor);
  return {};
}

async function saveOnce(from, to) {
  const other = spawn(process.execPath, [script, 'idle'], { stdio: ['pipe', 'pipe', 'inherit'] });
  let said = '';
  other.stdout.setEncoding('utf8').on('data', (text) => {
    said += text;
  });
  await once(other.stdout, 'data');
  const file = await open(from);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  let peak = 0;
  let last = 0;
  let falls = 0;
  const watch = setInterval(() => {
    peak = Math.max(peak, status('RssAnon'));
  }, 5);
  delay.enable();
  const begin = performance.now();
  await save(to, file, {
    onProgress: (written) => {
      if (written <= last) falls++;
      last = written;
      peak = Math.max(peak, status('RssAnon'));
    },
  });
  const seconds = (performance.now() - begin) / 1000;
  delay.disable();
  clearInterval(watch);
  other.stdin.end();
  await once(other, 'close');
  const idleBlocked = JSON.parse(said.trim().split('\n').at(-1));
  return { idleBlocked, seconds, peak, blocked: delay.max / 1e6 - 1, falls, whole: last === statSync(to).size };
}

async function copy(from, to) {
  const begin = performance.now();
  const { status: failed } = spawnSync('cp', [from, to]);
  if (failed !== 0) throw new Error('cp failed');
  const descriptor = openSync(to, 'r+');
  fsyncSync(descriptor);
  closeSync(descriptor);
  return { seconds: (performance.now() - begin) / 1000 };
}

/** Page faults for each GiB of a file, when it is mapped anew and every page is touched. */
async function faults(path) {
  const { size } = statSync(path);
  const descriptor = openSync(path, 'r');
  const source = new MappedSource(descriptor, size, 'copy-on-write', segmentsOf(size));
  closeSync(descriptor);
  let count = 0;
  let sum = 0;
  for (let begin = 0; begin < size; begin += GiB) {
    const bytes = source.bytes(begin, Math.min(begin + GiB, size));
    const before = process.resourceUsage();
    for (let i = 0; i < bytes.length; i += 4096) sum += bytes[i];
    const after = process.resourceUsage();
    count += after.minorPageFault + after.majorPageFault - before.minorPageFault - before.majorPageFault;
  }
  return { perGiB: (count * GiB) / size, sum };
}

/** A file as segments of one GiB each. */
function segmentsOf(size) {
  const begin = Array.from({ length: Math.ceil(size / GiB) }, (_, i) => i * GiB);
  return { begin, end: begin.map((at) => Math.min(at + GiB, size)) };
}

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

if (first in jobs) {
  console.log(JSON.stringify(await jobs[first](...process.argv.slice(3))));
} else {
  const folder = mkdtempSync(join(directory, 'safetensors-bench-'));
  const path = (name) => join(folder, name);
  try {
    job('make', path('source'), first);
    const ratios = [];
    const saves = [];
    for (let round = 0; round < Number(rounds); round++) {
      const order = round % 2 === 0 ? ['save', 'copy'] : ['copy', 'save'];
      const result = {};
      for (const name of order) {
        rmSync(path('saved'), { force: true });
        rmSync(path('copied'), { force: true });
        spawnSync('sync');
        job('touch', String((Number(first) + 1) * GiB));
        result[name] = job(name, path('source'), path(name === 'save' ? 'saved' : 'copied'));
        if (name === 'save') result.faults = job('faults', path('saved'));
      }
      ratios.push(result.copy.seconds / result.save.seconds);
      const { size } = statSync(path('source'));
      rmSync(path('saved'), { force: true });
      rmSync(path('copied'), { force: true });
      job('plain', String(size), path('plain'));
      result.plain = job('faults', path('plain'));
      rmSync(path('plain'));
      saves.push({ ...result.save, ...result.faults, plain: result.plain.perGiB });
      console.log(
        `round ${round + 1}: save ${result.save.seconds.toFixed(2)} s, cp and fsync ${result.copy.seconds.toFixed(2)} s, ` +
          `private memory ${(result.save.peak / MiB).toFixed(1)} MiB, longest turn ${result.save.blocked.toFixed(1)} ms ` +
          `(idle process ${result.save.idleBlocked.toFixed(1)}), ${result.faults.perGiB.toFixed(0)} faults/GiB ` +
          `(plain writes ${result.plain.perGiB.toFixed(0)})`,
      );
    }
    const most = (key) => Math.max(...saves.map((one) => one[key]));
    const byteLength = Number(first) * GiB;
    console.log(
      [
        `save: ${(byteLength / 1e9 / median(saves.map(({ seconds }) => seconds))).toFixed(2)} GB/s`,
        `throughput ${median(ratios).toFixed(2)} of cp and fsync (goal 0.9)`,
        `private memory at most ${(most('peak') / MiB).toFixed(1)} MiB (goal 64)`,
        `longest turn of the event loop ${most('blocked').toFixed(1)} ms (goal 5), of an idle process ${most('idleBlocked').toFixed(1)} ms`,
        `at most ${most('perGiB').toFixed(0)} faults/GiB (goal 600), after plain writes ${most('plain').toFixed(0)}`,
        `progress ${saves.every(({ falls, whole }) => falls === 0 && whole) ? 'rose with every call, to the end' : 'IS WRONG'}`,
      ].join('\n'),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

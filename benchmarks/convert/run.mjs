// How fast the conversion kernels and the gather are beside plain C, the best JavaScript loop and torch on one thread.
//
//   node benchmarks/convert/run.mjs [a Python with torch]
//
// Needs a C and a C++ compiler (CC, CXX; cc and c++ by default), Linux or macOS. Everything runs in turns, several
// times, each in a process of its own; what is printed is each one's fastest round in GB/s of output (slower ones measure
// the machine's other work), with the ratio of the library's rate to it.
// Exits with 1 when a goal is missed.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const TURNS = 3;
/** The library's rate divided by the contender's, at least. */
const GOALS = { C: 0.9, 'C, streaming': 0.9, JavaScript: 1, 'torch .float()': 1, 'torch copy_': 1 };
const GATHER_GOAL = 0.8;
const F16_JAVASCRIPT_GOAL = 3;

const here = path.dirname(fileURLToPath(import.meta.url));
const native = path.join(here, '../../native');
const python = process.argv[2];
const build = mkdtempSync(path.join(tmpdir(), 'convert-'));

/** Rows of one child: { case, contender, median, best, worst }. */
function rowsOf(command, args) {
  const text = execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  return text.trim().split('\n').map(JSON.parse);
}

function compile() {
  const kernels = ['scalar', 'avx2', 'avx512', 'neon', 'dispatch'].map((name) => `${native}/convert_${name}.cc`);
  const reference = path.join(build, 'reference.o');
  const program = path.join(build, 'kernels');
  execFileSync(process.env.CC ?? 'cc', ['-O3', '-c', `${here}/reference.c`, '-o', reference]);
  const sources = [`${here}/kernels.cc`, ...kernels, `${native}/gather.cc`, reference];
  execFileSync(process.env.CXX ?? 'c++', ['-std=c++17', '-O2', ...sources, '-o', program]);
  return program;
}

const rates = new Map();
try {
  const program = compile();
  for (let turn = 0; turn < TURNS; turn++) {
    const rows = [
      ...rowsOf(program, []),
      ...rowsOf(process.execPath, [path.join(here, 'contenders.mjs')]),
      ...(python === undefined ? [] : rowsOf(python, [path.join(here, 'contenders.py')])),
    ];
    for (const row of rows) {
      const key = JSON.stringify([row.case, row.contender]);
      rates.set(key, [...(rates.get(key) ?? []), row.best]);
    }
  }
} finally {
  rmSync(build, { recursive: true });
}

const rateOf = (what, who) => {
  const values = rates.get(JSON.stringify([what, who]));
  return values === undefined ? undefined : Math.max(...values);
};

console.log(`${new Date().toISOString().slice(0, 10)}  ${cpus()[0].model}, Node ${process.version}, ${TURNS} turns`);
let missed = 0;
const cases = [...new Set([...rates.keys()].map((key) => JSON.parse(key)[0]))];
for (const what of cases) {
  const ours = rateOf(what, 'library');
  if (ours === undefined) continue;
  const [dtype, set, size] = what.split(' ');
  const large = size === '65536' && set !== 'scalar';
  const found = ['C', 'C, streaming', 'JavaScript', 'torch .float()', 'torch copy_'].flatMap((who) => {
    const outside = who !== 'C' && who !== 'C, streaming';
    const theirs = rateOf(outside ? dtype : what, who);
    if (theirs === undefined || (outside && !large)) return [];
    let goal = large ? GOALS[who] : undefined;
    if (dtype === 'columns') goal = GATHER_GOAL;
    if (dtype === 'F16' && who === 'JavaScript' && large) goal = F16_JAVASCRIPT_GOAL;
    const ratio = ours / theirs;
    const miss = goal !== undefined && ratio < goal;
    if (miss) missed++;
    return [`${who} ${theirs.toFixed(1)} (${ratio.toFixed(2)}${miss ? ` MISSED ${goal}` : ''})`];
  });
  console.log(`${what.padEnd(26)} ${ours.toFixed(1).padStart(6)}   ${found.join('   ')}`);
}
process.exitCode = missed === 0 ? 0 : 1;

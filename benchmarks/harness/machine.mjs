// Owns the description of the machine that a result carries: what a reader needs to judge the numbers.
// Refuses what would name the machine or its owner: no host name, no path, no user.
import { execFileSync } from 'node:child_process';
import { readFileSync, realpathSync, statfsSync, statSync } from 'node:fs';
import os from 'node:os';

import { own } from './tools.mjs';

const FILE_SYSTEMS = new Map([
  [0xef53, 'ext4'],
  [0x58465342, 'xfs'],
  [0x9123683e, 'btrfs'],
  [0x01021994, 'tmpfs'],
  [0x794c7630, 'overlay'],
  [0x6969, 'nfs'],
  [0x2fc12fc1, 'zfs'],
  [0x65735546, 'fuse'],
]);

/** @param {string} path */
function firstLine(path) {
  try {
    return readFileSync(path, 'utf8').trim().split('\n')[0];
  } catch {
    return undefined;
  }
}

/**
 * How far the kernel reads ahead on the disk of a directory, in KiB.
 * @param {string} directory
 */
function readAhead(directory) {
  const { dev } = statSync(realpathSync(directory));
  const [major, minor] = [(dev >> 8) & 0xfff, (dev & 0xff) | ((dev >> 12) & 0xfff00)];
  const found = firstLine(`/sys/class/bdi/${major}:${minor}/read_ahead_kb`);
  return found === undefined ? undefined : Number(found);
}

function commit() {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: own('.'), encoding: 'utf8' }).trim();
  } catch {
    return undefined;
  }
}

/** A word for results' file names: what kind of machine this is. */
export function hostKind() {
  return `${process.platform}-${process.arch}-${os.availableParallelism()}cpu`;
}

/** @param {Record<string, string>} modules */
function pythonVersions({ python, ...modules }) {
  return {
    python,
    ...Object.fromEntries(Object.entries(modules).map(([name, version]) => [`python ${name}`, version])),
  };
}

/**
 * @param {string} directory of the test files
 * @param {import('./tools.mjs').Tools} tools
 */
export function describeMachine(directory, { limits, python, peers }) {
  const { type } = statfsSync(directory);
  const { version } = JSON.parse(readFileSync(own('../package.json'), 'utf8'));
  return {
    machine: {
      cpu: os.cpus()[0]?.model ?? 'unknown',
      processors: os.availableParallelism(),
      memoryGiB: Math.round(os.totalmem() / 2 ** 30),
      kernel: `${os.type()} ${os.release()}`,
      fileSystem: FILE_SYSTEMS.get(type) ?? `0x${type.toString(16)}`,
      readAheadKiB: readAhead(directory),
      transparentHugePages: /\[(\w+)\]/.exec(firstLine('/sys/kernel/mm/transparent_hugepage/enabled') ?? '')?.[1],
      loadAtStart: Number(os.loadavg()[0]?.toFixed(2)),
    },
    versions: {
      library: version,
      commit: commit(),
      node: process.versions.node,
      v8: process.versions.v8,
      ...(limits.ok ? { compiler: limits.compiler } : {}),
      ...(python.ok ? pythonVersions(python.modules) : {}),
      ...peers,
    },
  };
}

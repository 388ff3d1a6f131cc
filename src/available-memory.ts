// Owns how much memory this process can still fill: what the machine has left, and what its control groups allow.
// Refuses to count the page cache as used; the system gives it up when asked.

import { readFile } from 'node:fs/promises';
import { freemem } from 'node:os';

/** Reads a whole text file; undefined when there is none. */
export type ReadText = (path: string) => Promise<string | undefined>;

const GROUPS = '/sys/fs/cgroup';

const readText: ReadText = (path) => readFile(path, 'utf8').catch(() => undefined);

/** Bytes; never more than there are. */
export async function availableMemory(read: ReadText = readText): Promise<number> {
  const found = field(await read('/proc/meminfo'), 'MemAvailable:');
  const limits = [found === undefined ? freemem() : found * 1024];
  for (const line of ((await read('/proc/self/cgroup')) ?? '').split('\n')) {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (controllers === '') limits.push(...(await unifiedLimits(path!, read)));
    else if (controllers?.split(',').includes('memory')) limits.push(...(await firstVersionLimits(path!, read)));
  }
  return Math.max(0, Math.min(...limits));
}

/** Milliseconds for which an answer is good: it takes some of them to find, and a server may ask for every tensor. */
const GOOD_FOR = 1000;

let last: { readonly at: number; readonly answer: Promise<number> } | undefined;

/** The same, as it was when it was asked for last, at most a second ago. */
export function recentlyAvailableMemory(): Promise<number> {
  const now = performance.now();
  if (last === undefined || now - last.at > GOOD_FOR) last = { at: now, answer: availableMemory() };
  return last.answer;
}

/** What each group from this one up to the root leaves. */
async function unifiedLimits(path: string, read: ReadText): Promise<number[]> {
  const limits: number[] = [];
  for (const group of upwards(path)) {
    const folder = `${GROUPS}${group}`;
    const most = Math.min(
      numberOf(await read(`${folder}/memory.max`)) ?? Infinity,
      numberOf(await read(`${folder}/memory.high`)) ?? Infinity,
    );
    const used = numberOf(await read(`${folder}/memory.current`));
    if (most === Infinity || used === undefined) continue;
    limits.push(most - used + cached(await read(`${folder}/memory.stat`), ''));
  }
  return limits;
}

async function firstVersionLimits(path: string, read: ReadText): Promise<number[]> {
  const limits: number[] = [];
  for (const group of upwards(path)) {
    const folder = `${GROUPS}/memory${group}`;
    const most = numberOf(await read(`${folder}/memory.limit_in_bytes`));
    const used = numberOf(await read(`${folder}/memory.usage_in_bytes`));
    if (most === undefined || used === undefined) continue;
    limits.push(most - used + cached(await read(`${folder}/memory.stat`), 'total_'));
  }
  return limits;
}

/** A path and those above it; a container may see its own group as the root, whatever the path says. */
function upwards(path: string): string[] {
  const parts = path.split('/').filter((part) => part !== '' && part !== '..');
  return [...parts.map((_, i) => `/${parts.slice(0, parts.length - i).join('/')}`), ''];
}

/** Bytes of files that a group is charged for, and that the system can give up. */
function cached(stat: string | undefined, prefix: string): number {
  return (field(stat, `${prefix}inactive_file`) ?? 0) + (field(stat, `${prefix}active_file`) ?? 0);
}

function field(text: string | undefined, name: string): number | undefined {
  const line = text?.split('\n').find((candidate) => candidate.startsWith(`${name} `));
  return line === undefined ? undefined : numberOf(line.slice(name.length));
}

function numberOf(text: string | undefined): number | undefined {
  const digits = /^\s*(\d+)/.exec(text ?? '')?.[1];
  return digits === undefined ? undefined : Number(digits);
}

// Owns the count of memory that can still be filled, on machines and in control groups that are made up.

import { totalmem } from 'node:os';
import { expect, it } from 'vitest';
import { availableMemory, recentlyAvailableMemory } from '../src/available-memory.js';

/** The files of a machine, by path. */
const machine = (files: Readonly<Record<string, string>>) => async (path: string) => files[path];

const MEMINFO = { '/proc/meminfo': 'MemTotal:       4000 kB\nMemFree: 1 kB\nMemAvailable:   2000 kB\n' };
const G = '/sys/fs/cgroup';

it.each<[string, Readonly<Record<string, string>>, number]>([
  ['no groups', {}, 2048000],
  [
    'a group of the second version, cache not counted',
    {
      '/proc/self/cgroup': '0::/a/b\n',
      [`${G}/a/b/memory.max`]: '1000\n',
      [`${G}/a/b/memory.current`]: '900\n',
      [`${G}/a/b/memory.stat`]: 'anon 500\ninactive_file 300\nactive_file 50\nworkingset 7\n',
    },
    450,
  ],
  [
    'a limit above the own group, which has none',
    {
      '/proc/self/cgroup': '0::/a/b\n',
      [`${G}/a/b/memory.max`]: 'max\n',
      [`${G}/a/b/memory.current`]: '5\n',
      [`${G}/a/memory.max`]: '700\n',
      [`${G}/a/memory.current`]: '100\n',
    },
    600,
  ],
  [
    'the softer limit',
    {
      '/proc/self/cgroup': '0::/\n',
      [`${G}/memory.max`]: '700\n',
      [`${G}/memory.high`]: '300\n',
      [`${G}/memory.current`]: '100\n',
    },
    200,
  ],
  [
    'a container that sees its group as the root',
    { '/proc/self/cgroup': '0::/../docker/x\n', [`${G}/memory.max`]: '700\n', [`${G}/memory.current`]: '100\n' },
    600,
  ],
  [
    'a group of the first version',
    {
      '/proc/self/cgroup': '5:cpu,memory:/x\n1:name=systemd:/y\n',
      [`${G}/memory/x/memory.limit_in_bytes`]: '900\n',
      [`${G}/memory/x/memory.usage_in_bytes`]: '800\n',
      [`${G}/memory/x/memory.stat`]: 'inactive_file 1\ntotal_inactive_file 100\ntotal_active_file 20\n',
    },
    220,
  ],
  [
    'a group that is over its limit',
    { '/proc/self/cgroup': '0::/\n', [`${G}/memory.max`]: '700\n', [`${G}/memory.current`]: '900\n' },
    0,
  ],
])('%s', async (_, files, expected) => {
  expect(await availableMemory(machine({ ...MEMINFO, ...files }))).toBe(expected);
});

it('is something between nothing and everything here, and where no file says', async () => {
  for (const available of [await availableMemory(), await availableMemory(machine({}))]) {
    expect(available).toBeGreaterThan(0);
    expect(available).toBeLessThanOrEqual(totalmem());
  }
});

it('is asked once for several prefetches in a row', async () => {
  const answer = recentlyAvailableMemory();
  expect(recentlyAvailableMemory()).toBe(answer);
  expect(await answer).toBeGreaterThan(0);
  expect(await answer).toBeLessThanOrEqual(totalmem());
});

// Owns the addon's own check of lists of ranges: whatever the numbers, it stays within the mapping or refuses.
// Refuses to go by way of tensors, which never ask for such ranges.

import { closeSync, openSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { nativeBinding } from '../../src/binding.js';
import { scratch } from '../support/files.js';

const SIZE = 3 * 4096 + 17;
const folder = scratch();
const descriptor = openSync(folder.write('bytes', new Uint8Array(SIZE).fill(7)), 'r');
afterAll(() => {
  closeSync(descriptor);
  folder.remove();
});
const binding = nativeBinding();
const mapped = binding.map(descriptor, SIZE, false);
if (typeof mapped === 'number') throw new Error(`errno ${mapped}`);
const handle = mapped;

const CALLS: Record<string, (ranges: number[]) => unknown> = {
  bringIn: (ranges) => binding.bringIn(handle, ranges),
  askForLargePages: (ranges) => binding.askForLargePages(handle, ranges),
  residentBytes: (ranges) => binding.residentBytes(handle, ranges),
  evict: (ranges) => binding.evict(handle, ranges),
};

const anyNumber = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: SIZE }) },
  { weight: 1, arbitrary: fc.constantFrom(-1, SIZE + 1, 2 ** 32, 2 ** 53, 0.5, Number.NaN, Infinity, -Infinity) },
);

/** Whether the numbers are pairs of integers, each a range that is not empty and within the mapping. */
function isRight(ranges: readonly number[]): boolean {
  const within = ranges.every((value) => Number.isInteger(value) && value >= 0 && value <= SIZE);
  return within && ranges.length % 2 === 0 && ranges.every((end, i) => i % 2 === 0 || end > ranges[i - 1]!);
}

it.each(Object.keys(CALLS))('%s takes ranges of the mapping, and refuses all else', async (name) => {
  const property = fc.asyncProperty(fc.array(anyNumber, { maxLength: 6 }), async (ranges) => {
    if (isRight(ranges)) await CALLS[name]!(ranges);
    else expect(() => CALLS[name]!(ranges)).toThrow(TypeError);
  });
  await fc.assert(property, { numRuns: 300, examples: [[[0, SIZE]], [[SIZE - 1, SIZE, 0, 1]], [[0, 0]], [[1]]] });
});

it('residentBytes counts bytes of ranges, not pages', async () => {
  expect(await binding.bringIn(handle, [0, SIZE])).toBeOneOf([0, 22]);
  const whole = binding.residentBytes(handle, [0, SIZE]);
  if (whole < 0) return; // a system that does not say
  expect(whole).toBe(SIZE);
  expect(binding.residentBytes(handle, [5, 6, 4000, 4100, SIZE - 1, SIZE])).toBe(102);
});

it.each(['bringIn', 'askForLargePages', 'residentBytes', 'evict'] as const)('%s refuses what is no handle', (name) => {
  for (const value of [undefined, null, {}, 5]) {
    expect(() => binding[name](value as unknown as typeof handle, [0, 1])).toThrow(TypeError);
  }
});

it.each(['cachedBytes', 'dropCached'] as const)(
  '%s refuses bad descriptors, and does nothing to closed ones',
  (name) => {
    for (const value of [-1, 0.5, 2 ** 31, Number.NaN]) expect(() => binding[name](value, [0, 1])).toThrow(TypeError);
    expect(() => binding[name](descriptor, [1, 1])).toThrow(TypeError);
    expect([-1, undefined]).toContain(binding[name](2 ** 31 - 1, [0, 1]));
  },
);

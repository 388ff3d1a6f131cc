// Owns the memory that arrays of a file's length are given: its pages, and what is said where there is none.
// Refuses to count page faults, which other memory has too.

import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { allocate, allocateBytes, allocateFloats } from '../src/allocation.js';
import { nativeBinding } from '../src/binding.js';
import { errorOf } from './support/outcome.js';

const MiB = 2 ** 20;
const SMAPS = '/proc/self/smaps';

/** Bytes of this process for which large pages are asked for. */
function advised(): number {
  let size = 0;
  let sum = 0;
  for (const line of readFileSync(SMAPS, 'latin1').split('\n')) {
    const found = /^Size: +(\d+) kB/.exec(line);
    if (found !== null) size = Number(found[1]) * 1024;
    if (/^VmFlags:.* hg( |$)/.test(line)) sum += size;
  }
  return sum;
}

describe('fresh memory', () => {
  const hasLargePages = existsSync('/sys/kernel/mm/transparent_hugepage/enabled') && existsSync(SMAPS);

  it.skipIf(!hasLargePages)('is asked for in large pages from 4 MiB on', () => {
    const before = advised();
    const small = allocateBytes(4 * MiB - 1);
    expect(advised() - before).toBe(0);
    const large = [allocateBytes(64 * MiB), allocateFloats(16 * MiB), allocate(Float64Array, 8 * MiB)];
    // All of each but less than a page at either end.
    expect(advised() - before).toBeGreaterThan(3 * (64 - 4) * MiB);
    expect(advised() - before).toBeLessThanOrEqual(3 * 64 * MiB);
    expect(large.every((array) => array.every((value: number) => value === 0))).toBe(true);
    expect(small.length).toBe(4 * MiB - 1);
  });

  it('beyond the longest is refused with its length', async () => {
    expect(await errorOf(() => allocateFloats(2 ** 52))).toMatchObject({
      code: 'BUFFER_TOO_LARGE',
      message: `there is no memory for ${2 ** 54} bytes in one buffer`,
    });
  });
});

describe('useLargePages', () => {
  it('takes arrays of any length, at any place of their buffers, and leaves what is in them', () => {
    const bytes = new Uint8Array(9 * MiB).fill(7);
    for (const array of [bytes, bytes.subarray(5), bytes.subarray(1, 1), new Float64Array(0)])
      nativeBinding().useLargePages(array);
    const moved = new Uint8Array(5 * MiB);
    structuredClone(moved.buffer, { transfer: [moved.buffer] });
    nativeBinding().useLargePages(moved);
    expect(bytes.every((byte) => byte === 7)).toBe(true);
  });

  it.each([undefined, null, 1, 'x', {}, new ArrayBuffer(8), new DataView(new ArrayBuffer(8))])(
    'refuses %s',
    (value) => {
      expect(() => nativeBinding().useLargePages(value as never)).toThrow(TypeError);
    },
  );
});

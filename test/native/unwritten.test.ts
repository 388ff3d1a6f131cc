// Owns what the addon says of pages that were written to. Refuses to know what that is asked for.

import { closeSync, openSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { type MappingHandle, nativeBinding } from '../../src/binding.js';
import { scratch } from '../support/files.js';

const folder = scratch();
afterAll(() => folder.remove());

const PAGE = 4096;
const SIZE = 600 * PAGE + 10;
const binding = nativeBinding();

function map(readOnly = false): MappingHandle {
  const descriptor = openSync(folder.write('file', new Uint8Array(SIZE)), 'r');
  try {
    return binding.map(descriptor, SIZE, readOnly) as MappingHandle;
  } finally {
    closeSync(descriptor);
  }
}

const linux = process.platform === 'linux';

describe('pages', () => {
  it.runIf(linux)('are unwritten until they are written to, whether they were read or not', () => {
    const handle = map();
    const bytes = new Uint8Array(binding.segment(handle, 0, SIZE) as ArrayBuffer);
    const isUnwritten = (at: number, count: number) => binding.isUnwritten(handle, at, count);
    expect(isUnwritten(0, SIZE)).toBe(true);
    expect(bytes[100 * PAGE]).toBe(0);
    expect(isUnwritten(0, SIZE)).toBe(true);
    bytes[200 * PAGE + 5] = 1;
    bytes[SIZE - 1] = 1;
    expect(isUnwritten(0, SIZE)).toBe(false);
    expect(isUnwritten(0, 200 * PAGE)).toBe(true);
    expect(isUnwritten(0, 200 * PAGE + 1)).toBe(false);
    expect(isUnwritten(200 * PAGE + 4000, 1)).toBe(false);
    expect(isUnwritten(201 * PAGE, 399 * PAGE)).toBe(true);
    expect(isUnwritten(201 * PAGE, SIZE - 201 * PAGE)).toBe(false);
    expect(isUnwritten(SIZE, 0)).toBe(true);
  });

  it('of a read-only mapping always are', () => {
    expect(binding.isUnwritten(map(true), 0, SIZE)).toBe(true);
  });

  it.each([
    [-1, 1],
    [0, SIZE + 1],
    [SIZE, 1],
    [0.5, 1],
    ['0', 1],
  ])('at %s, %s are refused', (at, count) => {
    expect(() => binding.isUnwritten(map(), at as number, count)).toThrow(TypeError);
  });
});

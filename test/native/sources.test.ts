// Owns the check that node-gyp and cmake-js compile the same files, and that no source is left out of both.
// Refuses to compile anything.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { nativeSources, ROOT } from '../../scripts/native.mjs';

function read(file: string): string {
  return readFileSync(path.join(ROOT, file), 'utf8').replace(/^\s*#.*$/gm, '');
}

function sorted(names: Iterable<string>): string[] {
  return [...new Set(names)].sort();
}

const gyp = sorted(Array.from(read('native/addon.gypi').matchAll(/\w+\.cc\b/g), (match) => match[0]));
const cmake = sorted(Array.from(read('native/CMakeLists.txt').matchAll(/[\w/]+\.cc\b/g), (match) => match[0])).filter(
  (file) => !file.endsWith('_test.cc'),
);
const present = nativeSources()
  .filter((file) => file.endsWith('.cc'))
  .map((file) => file.replace(/^native\//, ''));

describe('the lists of native sources', () => {
  it('are the same in native/addon.gypi and native/CMakeLists.txt', () => {
    expect(cmake).toEqual(gyp);
  });

  it('leave out no file of native/', () => {
    expect(gyp).toEqual(present);
  });
});

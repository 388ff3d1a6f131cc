// Owns the check that the addon under test is the one that the run is about: sanitized there, plain elsewhere.
// Refuses to test what the addon does.
import { createRequire } from 'node:module';
import { expect, it } from 'vitest';
import { ROOT } from '../../scripts/native.mjs';

const require = createRequire(import.meta.url);

it('loads the sanitized addon in the sanitizer run and only there', () => {
  const resolve: (directory: string) => string = require('node-gyp-build').resolve;
  const { SAFETENSORS_MMAP_EXPECT_SANITIZED } = process.env;
  expect(require(resolve(ROOT)).sanitized).toBe(SAFETENSORS_MMAP_EXPECT_SANITIZED === '1');
});

// Owns which tests belong to which run: `unit` is everything in-process, `package` installs the tarball.
// Refuses settings that hide a failure: no retries, no tests allowed to be missing.

import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const { SAFETENSORS_MMAP_EXPECT_SANITIZED: SANITIZED } = process.env;

/** The examples import the library by its name; their tests run it from src/. */
const library = fileURLToPath(new URL('src/index.ts', import.meta.url));

export default defineConfig({
  test: {
    // One more than there are processors: many tests wait for a process that they have started.
    maxWorkers: availableParallelism() + 1,
    projects: [
      {
        resolve: { alias: { 'safetensors-mmap': library } },
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/package/**'],
          globalSetup: 'test/lifetime/bundle.ts',
          // Tests that start processes take seconds on a busy machine, and several times that under the sanitizers.
          testTimeout: SANITIZED ? 60_000 : 20_000,
        },
      },
      {
        test: {
          name: 'package',
          include: ['test/package/**/*.test.ts'],
          // npm install and two compilations in an empty project.
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});

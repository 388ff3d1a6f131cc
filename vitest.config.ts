// Owns which tests belong to which run: `unit` and `unit-shared` are everything but what installs the tarball, `package`.
// Refuses settings that hide a failure: no retries, no tests allowed to be missing.

import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const { SAFETENSORS_MMAP_EXPECT_SANITIZED: SANITIZED } = process.env;

/** The examples import the library by its name; their tests run it from src/. */
const library = fileURLToPath(new URL('src/index.ts', import.meta.url));

/**
 * What a test does to its process or to its modules, or counts in it, and what another test of the same process would see:
 * a file that has any of this, also in a comment, gets a process of its own.
 */
const TOUCHES_PROCESS =
  /\bvi\b|\bprocess\.(?!platform\b)|\bglobalThis\b|\bprototype\b|\bliveMappings\b|\bdescriptors|\/proc\/self|\bmock/;

/** Other tests share the modules that they import: to load those again for each file takes longer than most of them. */
function sharing(): string[] {
  const files = readdirSync(new URL('test', import.meta.url), { recursive: true, encoding: 'utf8' })
    .map((name) => `test/${name.replaceAll('\\', '/')}`)
    .filter((name) => /^test\/(?!package\/|lifetime\/|examples\/).*\.test\.ts$/.test(name));
  return files.filter((name) => !TOUCHES_PROCESS.test(readFileSync(new URL(name, import.meta.url), 'utf8')));
}

const SHARED = sharing();

const unit = {
  // Tests that start processes take seconds on a busy machine, and several times that under the sanitizers.
  testTimeout: SANITIZED ? 60_000 : 20_000,
};

export default defineConfig({
  test: {
    // One more than there are processors: many tests wait for a process that they have started.
    maxWorkers: availableParallelism() + 1,
    projects: [
      {
        resolve: { alias: { 'safetensors-mmap': library } },
        test: {
          ...unit,
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/package/**', ...SHARED],
          globalSetup: 'test/lifetime/bundle.ts',
        },
      },
      {
        resolve: { alias: { 'safetensors-mmap': library } },
        test: { ...unit, name: 'unit-shared', include: SHARED, isolate: false },
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

// Owns the sanitizer run: builds the addon with AddressSanitizer and UBSan, then runs on it the tests that
// map, detach, collect and exit. Refuses to pass when another addon than that one was loaded.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { compiler, ROOT, toolPath } from './native.mjs';
import { runVitest } from './vitest.mjs';

const HOME = path.join(ROOT, '.cache/sanitize');
const BUILD = path.join(HOME, 'build/Release');

/** Parts of the names of test files that exercise the addon, in this process or in children. */
const TESTS = [
  'test/lifetime/',
  'test/native/bounds',
  'test/native/sanitized',
  'test/alignment',
  'test/convert.test',
  'test/save.test',
  'test/states',
  'test/tensor-',
];

/**
 * Why the sanitizers cannot run here, or undefined.
 * @returns {string | undefined}
 */
export function unavailable() {
  if (process.platform !== 'linux') return 'the preloaded runtime is only set up for Linux';
  const missing = ['cmake', 'gcc'].filter((tool) => spawnSync(tool, ['--version'], { stdio: 'ignore' }).status !== 0);
  if (compiler() === undefined) missing.push('a C++ compiler');
  if (missing.length > 0) return `not found: ${missing.join(', ')}`;
  return existsSync(runtimeLibrary()) ? undefined : 'gcc has no libasan.so';
}

/** The sanitizer's runtime. It has to be loaded before everything else, and node was not linked with it. */
function runtimeLibrary() {
  return spawnSync('gcc', ['-print-file-name=libasan.so'], { encoding: 'utf8' }).stdout?.trim() ?? '';
}

/** @returns {NodeJS.ProcessEnv} */
function environment() {
  const { SAFETENSORS_MMAP_ASAN_STACKS } = process.env;
  return {
    ...process.env,
    LD_PRELOAD: runtimeLibrary(),
    ASAN_OPTIONS: [
      // node leaves its own memory to the system when it exits, so a leak check would report node and nothing else;
      // the tests count live mappings instead.
      'detect_leaks=0',
      'exitcode=66',
      'abort_on_error=0',
      'allocator_may_return_null=1',
      // node's own SIGSEGV handler, for WebAssembly, must not replace the one that reports.
      'handle_segv=2',
      // Nearly all allocations are node's: without their stacks, and with a smaller quarantine, a process starts in half the
      // time. A report still has the stack of the fault; for those of allocations set SAFETENSORS_MMAP_ASAN_STACKS.
      `malloc_context_size=${SAFETENSORS_MMAP_ASAN_STACKS ?? 0}`,
      'quarantine_size_mb=4',
      'thread_local_quarantine_size_kb=64',
    ].join(':'),
    UBSAN_OPTIONS: 'halt_on_error=1:print_stacktrace=1',
    SAFETENSORS_MMAP_PREBUILD: HOME,
    SAFETENSORS_MMAP_EXPECT_SANITIZED: '1',
  };
}

/** Compiles the addon and the programs of native/ under .cache/sanitize; throws when that fails. */
export function buildSanitized() {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [
      toolPath('cmake-js/bin/cmake-js'),
      'compile',
      '--directory=native',
      `--out=${BUILD}`,
      '--CDSAFETENSORS_MMAP_SANITIZE=ON',
      `--parallel=${availableParallelism()}`,
      '--log-level=error',
    ],
    { cwd: ROOT, encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`cmake-js ended with ${status}\n${stdout}${stderr}`);
}

/** Throws unless what the library's loader finds in this environment is the sanitized addon. */
function verifyLoaded() {
  const script =
    "const found = require('node-gyp-build').resolve('.'); if (!require(found).sanitized) throw new Error(found);";
  const { status, stderr } = spawnSync(process.execPath, ['-e', script], {
    cwd: ROOT,
    env: environment(),
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`the sanitized addon did not load (exit ${status})\n${stderr}`);
}

/** Runs the programs of native/ that need no Node; throws when one of them fails. */
function runPrograms() {
  const table = path.join(HOME, 'float32_table.bin');
  writeFileSync(table, gunzipSync(readFileSync(path.join(ROOT, 'test/fixtures/float32_table.bin.gz'))));
  for (const [program, ...args] of [['convert_test', table], ['gather_test']]) {
    const { status, signal } = spawnSync(path.join(BUILD, program ?? ''), args, { stdio: 'inherit' });
    if (status !== 0) throw new Error(`${program} ended with ${status ?? signal}`);
  }
}

/**
 * Builds, verifies and tests.
 * @returns {import('./vitest.mjs').Counts}
 */
export function sanitize() {
  buildSanitized();
  verifyLoaded();
  runPrograms();
  return runVitest('sanitize', ['--project', 'unit*', ...TESTS], { env: environment() });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { CI } = process.env;
  const reason = unavailable();
  if (reason !== undefined) {
    console.log(`sanitizers: skipped, ${reason}`);
    process.exitCode = CI ? 1 : 0;
  } else {
    process.exitCode = sanitize().failed > 0 ? 1 : 0;
  }
}

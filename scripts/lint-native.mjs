// Owns the layout check of native/: clang-format with the settings of .clang-format; --write applies it.
// Refuses to judge anything else about the code.
import { spawnSync } from 'node:child_process';
import { nativeFiles, ROOT, toolPath } from './native.mjs';

const mode = process.argv.includes('--write') ? ['-i'] : ['--dry-run', '-Werror'];
const { status } = spawnSync(
  process.execPath,
  [toolPath('clang-format/index.js'), '--style=file', ...mode, ...nativeFiles()],
  {
    cwd: ROOT,
    stdio: 'inherit',
  },
);
process.exitCode = status ?? 1;

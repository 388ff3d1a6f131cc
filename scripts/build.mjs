// Owns dist/: compiles src/ into it and removes what no source file stands behind any more.
// Refuses to empty dist/ first: whoever is running from it keeps a whole library throughout.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { ROOT, toolPath } from './native.mjs';

const DIST = path.join(ROOT, 'dist');

// What is known to be up to date is written down inside dist/, so that it goes when dist/ goes.
const incremental = ['--incremental', '--tsBuildInfoFile', path.join(DIST, '.tsbuildinfo')];
const { status } = spawnSync(process.execPath, [toolPath('typescript/bin/tsc'), '-p', ROOT, ...incremental], {
  stdio: 'inherit',
});

for (const file of existsSync(DIST) ? readdirSync(DIST, { recursive: true, encoding: 'utf8' }) : []) {
  const stem = /^(.*?)(\.d\.ts|\.js)(\.map)?$/.exec(file)?.[1];
  if (stem !== undefined && !existsSync(path.join(ROOT, 'src', `${stem}.ts`))) rmSync(path.join(DIST, file));
}

process.exitCode = status ?? 1;

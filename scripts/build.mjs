// Owns dist/ and dist-examples/: compiles src/ and examples/ into them and removes what no source file stands behind any more.
// Refuses to empty dist/ first: whoever is running from it keeps a whole library throughout.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { ROOT, toolPath } from './native.mjs';

/**
 * Compiles one directory. What is known to be up to date is written down in the output, so that it goes with that.
 * @param {string} project directory of tsconfig.json
 * @param {string} sources directory
 * @param {string} output directory
 */
function compile(project, sources, output) {
  const incremental = ['--incremental', '--tsBuildInfoFile', path.join(output, '.tsbuildinfo')];
  const { status } = spawnSync(process.execPath, [toolPath('typescript/bin/tsc'), '-p', project, ...incremental], {
    stdio: 'inherit',
  });
  for (const file of existsSync(output) ? readdirSync(output, { recursive: true, encoding: 'utf8' }) : []) {
    const stem = /^(.*?)(\.d\.ts|\.js)(\.map)?$/.exec(file)?.[1];
    if (stem !== undefined && !existsSync(path.join(sources, `${stem}.ts`))) rmSync(path.join(output, file));
  }
  return status === 0;
}

/** @param {string} name */
const at = (name) => path.join(ROOT, name);

// The examples are compiled against the library's declarations.
const built = compile(ROOT, at('src'), at('dist')) && compile(at('examples'), at('examples'), at('dist-examples'));
process.exitCode = built ? 0 : 1;

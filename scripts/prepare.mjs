// Owns what `npm install` does in a checkout: compile src/ and examples/, then the addon when there are tools for it.
// Refuses to run where the library is a dependency: a tarball has everything inside and runs no script.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { buildNative } from './build-native.mjs';
import { readManifest } from './manifest.mjs';
import { nativeHash, PLATFORM, prebuildPath, ROOT, toolPath } from './native.mjs';

const { CI } = process.env;
const strict = Boolean(CI);

/** @param {string} line */
function say(line) {
  // Standard output of `npm pack --json` is read by programs.
  process.stderr.write(`${line}\n`);
}

function prepareNative() {
  const build = buildNative({ werror: strict });
  if (build.status === 'built' || build.status === 'current') {
    say(`native addon: ${build.message}`);
    return;
  }
  if (build.status === 'failed') say(build.output);
  if (strict) {
    say(`ERROR: native addon: ${build.message}; in CI nothing stands in for it`);
    process.exitCode = 1;
  } else if (prebuildPath() !== undefined) {
    const warning = build.status === 'failed' ? 'WARNING: it did not compile, see above; ' : '';
    const stale = readManifest().sources === nativeHash() ? '' : ', though it was made from other sources than these';
    say(`native addon: ${warning}the prebuild for ${PLATFORM} serves${stale} (${build.message})`);
  } else {
    say(`WARNING: no native addon, and no prebuild for ${PLATFORM} (${build.message}): only backend 'read' works`);
    // Having no tools is how some machines are; a compilation that was tried and broke is an error.
    if (build.status === 'failed') process.exitCode = 1;
  }
}

if (!existsSync(toolPath('typescript/bin/tsc'))) {
  say('prepare: nothing compiled, the development dependencies are not installed');
} else {
  const build = spawnSync(process.execPath, [path.join(ROOT, 'scripts/build.mjs')], { stdio: ['ignore', 2, 2] });
  if (build.status === 0) prepareNative();
  else process.exitCode = 1;
}

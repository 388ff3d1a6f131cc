// Owns what `npm install` does in a checkout: compile src/, then the addon when there are tools for it.
// Refuses to run where the library is a dependency: a tarball has everything inside and runs no script.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { buildNative } from './build-native.mjs';
import { PLATFORM, prebuildPath, ROOT, toolPath } from './native.mjs';

const { CI } = process.env;
const strict = Boolean(CI);

/** @param {string} line */
function say(line) {
  // Standard output of `npm pack --json` is read by programs.
  process.stderr.write(`${line}\n`);
}

function prepareNative() {
  const build = buildNative({ werror: strict });
  const prebuild = prebuildPath();
  if (build.status === 'built' || build.status === 'current') {
    say(`native addon: ${build.message}`);
  } else if (prebuild !== undefined && !strict) {
    const serves = `the prebuild for ${PLATFORM} serves`;
    if (build.status === 'failed') {
      say(`${build.output}\nWARNING: the native addon did not compile (${build.message}), see above.`);
    }
    say(`native addon: ${serves} (${build.message})`);
  } else {
    const instead = strict ? 'CI does not fall back on the prebuild' : `there is no prebuild for ${PLATFORM}`;
    say(`${build.output}\nERROR: native addon: ${build.message}; ${instead}`);
    // Without any addon the read backend still works, so only a build that was tried and broke is fatal.
    if (strict || build.status === 'failed') process.exitCode = 1;
  }
}

if (!existsSync(toolPath('typescript/bin/tsc'))) {
  say('prepare: nothing compiled, the development dependencies are not installed');
} else {
  const build = spawnSync(process.execPath, [path.join(ROOT, 'scripts/build.mjs')], { stdio: ['ignore', 2, 2] });
  if (build.status === 0) prepareNative();
  else process.exitCode = 1;
}

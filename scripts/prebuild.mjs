// Owns prebuilds/: compiles the addon for this platform, strips it and writes the manifest beside it.
// Refuses a result that needs a newer system than the library promises.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describeAddon, LIMITS, MANIFEST, newestSymbol, readManifest } from './manifest.mjs';
import { gypEnvironment, nativeHash, PLATFORM, prebuildPath, ROOT, toolPath } from './native.mjs';

const directory = path.join(ROOT, 'prebuilds', PLATFORM);
const manifest = existsSync(MANIFEST) ? readManifest() : { sources: '', addons: {} };

// A file of an older name would be found by the loader too.
for (const file of existsSync(directory) ? readdirSync(directory) : []) rmSync(path.join(directory, file));

// The libc goes into the name: on musl the loader then finds nothing, instead of a file that cannot be loaded.
const libc = process.platform === 'linux' ? ['--tag-libc'] : [];
const made = spawnSync(
  process.execPath,
  [toolPath('prebuildify/bin.js'), '--napi', '--strip', ...libc, '--target', process.versions.node],
  {
    cwd: ROOT,
    // prebuildify calls node-gyp by name; ours is the pinned one.
    env: { ...gypEnvironment(), PREBUILD_NODE_GYP: toolPath('node-gyp/bin/node-gyp.js') },
    encoding: 'utf8',
  },
);
const addon = prebuildPath();
if (made.status !== 0 || addon === undefined) {
  process.stderr.write(`${made.stdout}${made.stderr}`);
  throw new Error(`prebuildify ended with ${made.status}`);
}

const described = describeAddon(addon);
for (const [family, limit] of Object.entries(LIMITS)) {
  const version = described.symbols[family];
  if (version !== undefined && newestSymbol([version, limit]) !== limit) {
    throw new Error(`the addon needs ${family}_${version}, the limit is ${family}_${limit}`);
  }
}

const sources = nativeHash();
// Addons of other platforms stay listed only while they are of the same sources.
const others = manifest.sources === sources ? manifest.addons : {};
const addons = Object.fromEntries(
  Object.entries({ ...others, [PLATFORM]: described }).sort(([a], [b]) => (a < b ? -1 : 1)),
);
writeFileSync(MANIFEST, `${JSON.stringify({ sources, addons }, null, 2)}\n`);
console.log(`${path.relative(ROOT, addon)}: ${described.byteLength} bytes, needs ${JSON.stringify(described.symbols)}`);

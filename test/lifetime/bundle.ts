// Owns the library as the processes of the tests load it: dist/ in one file, since each of its modules takes a process
// more than a millisecond to load, and hundreds of processes do. Refuses to stand for the package: test/package loads that.

import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const DIST = new URL('../../dist/', import.meta.url);

/** Exports what dist/index.js does, and `liveMappings` and `nativeBinding`. As far below the root as dist/index.js is. */
export const LIBRARY = new URL('../../.cache/library-of-tests.mjs', import.meta.url);

/** Writes it, before the first test of a run. */
export async function setup(): Promise<void> {
  if (!existsSync(new URL('index.js', DIST))) throw new Error('dist is missing: build the library before its tests');
  const from = (file: string) => JSON.stringify(fileURLToPath(new URL(file, DIST)));
  const entry = `
    export * from ${from('index.js')};
    export { liveMappings } from ${from('mapping.js')};
    export { nativeBinding } from ${from('binding.js')};`;
  // Not above: the tests import this file for the address alone.
  const { rolldown } = await import('rolldown');
  const bundle = await rolldown({
    input: 'library',
    platform: 'node',
    external: /^node-gyp-build$/,
    plugins: [
      {
        name: 'library',
        resolveId: (id) => (id === 'library' ? id : undefined),
        load: (id) => (id === 'library' ? entry : undefined),
      },
    ],
  });
  const { output } = await bundle.generate({ format: 'esm', codeSplitting: false });
  await bundle.close();
  const path = fileURLToPath(LIBRARY);
  mkdirSync(new URL('.', LIBRARY), { recursive: true });
  // Whole at any moment, for a run that is already under way.
  writeFileSync(`${path}.${process.pid}`, output[0].code);
  renameSync(`${path}.${process.pid}`, path);
}

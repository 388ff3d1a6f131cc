// Owns the check that each committed addon was made from the sources beside it and loads on the systems promised.
// Refuses to build one: `npm run build:prebuild` does.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeAddon, LIMITS, newestSymbol, readManifest } from '../../scripts/manifest.mjs';
import { nativeHash, PLATFORM, ROOT } from '../../scripts/native.mjs';

const PREBUILDS = path.join(ROOT, 'prebuilds');
const manifest = readManifest();
const require = createRequire(import.meta.url);
const hasObjdump = spawnSync('objdump', ['--version'], { stdio: 'ignore' }).status === 0;

describe('prebuilds/manifest.json', () => {
  it('was written for the native sources as they are now (else: npm run build:prebuild)', () => {
    expect(manifest.sources).toBe(nativeHash());
  });

  it('names every addon there is, and no other', () => {
    const files = readdirSync(PREBUILDS, { recursive: true, encoding: 'utf8' })
      .map((file) => file.replaceAll('\\', '/'))
      .filter((file) => file.endsWith('.node'));
    expect(Object.values(manifest.addons).map((addon) => addon.file)).toEqual(files.sort());
  });
});

describe.each(Object.entries(manifest.addons))('the prebuild for %s', (platform, addon) => {
  const file = path.join(PREBUILDS, addon.file);

  it('is the file that the manifest describes', () => {
    const { sha256, byteLength } = describeAddon(file);
    expect({ sha256, byteLength }).toEqual({ sha256: addon.sha256, byteLength: addon.byteLength });
  });

  it('asks for no symbol newer than the limits', () => {
    // Where there is no objdump the manifest is believed: the hash above ties it to this very file.
    const symbols = hasObjdump && process.platform === 'linux' ? describeAddon(file).symbols : addon.symbols;
    expect(symbols).toEqual(addon.symbols);
    for (const [family, limit] of Object.entries(LIMITS)) {
      expect(newestSymbol([symbols[family] ?? '0', limit]), `${family}_${symbols[family]}`).toBe(limit);
    }
  });

  it('loads here, if it is for this platform', () => {
    expect(existsSync(file)).toBe(true);
    if (platform === PLATFORM) expect(require(file)).toHaveProperty('sanitized', false);
  });
});

describe('versions of symbols', () => {
  it('are compared as numbers, part by part', () => {
    expect(newestSymbol(['2.4', '2.28', '2.14', '2.2.5'])).toBe('2.28');
    expect(newestSymbol(['3.4.9', '3.4.21', '3.4'])).toBe('3.4.21');
  });
});

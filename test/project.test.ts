// Owns the rules for package.json and its lock file: exact versions, no addresses of registries.
// Refuses to look at the packages themselves.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

function read(file: string): string {
  return readFileSync(new URL(`../${file}`, import.meta.url), 'utf8');
}

const manifest = JSON.parse(read('package.json'));
const lock = JSON.parse(read('package-lock.json'));

describe('package.json', () => {
  it('pins every dependency to one version', () => {
    const versions = Object.entries<string>({ ...manifest.dependencies, ...manifest.devDependencies });
    expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
  });

  it('has no script whose name makes npm run it before or after another', () => {
    const names = Object.keys(manifest.scripts);
    const hooks = names.filter((name) => /^(pre|post)/.test(name) && name !== 'prepare');
    expect(hooks).toEqual([]);
  });
});

describe('package-lock.json', () => {
  it('agrees with package.json', () => {
    const { version, dependencies, devDependencies, engines, bin } = lock.packages[''];
    expect(manifest).toMatchObject({ version, dependencies, devDependencies, engines, bin });
    expect(Object.keys(dependencies)).toEqual(Object.keys(manifest.dependencies));
    expect(Object.keys(devDependencies).sort()).toEqual(Object.keys(manifest.devDependencies).sort());
  });

  it('names no registry', () => {
    const addressed = Object.entries<{ resolved?: string }>(lock.packages).filter(([, entry]) => entry.resolved);
    expect(addressed.map(([name]) => name)).toEqual([]);
    expect(read('package-lock.json')).not.toMatch(/registry\./);
  });
});

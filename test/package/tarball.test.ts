// Owns what the published package contains and that it works where it is installed: ESM, CommonJS, TypeScript, command.
// Refuses to test what the library computes; the unit tests do.
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nativeSources, PLATFORM, prebuildPath, ROOT } from '../../scripts/native.mjs';
import { install, installedFiles, pack, run, temporary, writeSample } from './project.js';

const { directory, remove } = temporary();
const project = path.join(directory, 'project');
let tarball: string;
let sample: string;

beforeAll(() => {
  mkdirSync(project);
  tarball = pack(directory);
  install(project, tarball, ['--ignore-scripts']);
  sample = writeSample(directory);
});

afterAll(remove);

describe('the tarball', () => {
  it('contains what is needed to run, to rebuild and to read', () => {
    const files = installedFiles(project);
    const wanted = ['LICENSE', 'README.md', 'CHANGELOG.md', 'package.json', 'dist/index.js', 'dist/index.d.ts'];
    expect(files).toEqual(
      expect.arrayContaining([...wanted, ...nativeSources().filter((file) => file !== 'binding.gyp')]),
    );
    expect(files).toEqual(expect.arrayContaining(['prebuilds/manifest.json']));
    const prebuild = prebuildPath();
    if (prebuild !== undefined) expect(files).toContain(path.relative(ROOT, prebuild).replaceAll('\\', '/'));
  });

  it('contains nothing else', () => {
    const strangers = installedFiles(project).filter(
      (file) => !/^(dist|docs|prebuilds|native|src)\/|^(LICENSE|README\.md|CHANGELOG\.md|package\.json)$/.test(file),
    );
    expect(strangers).toEqual([]);
    const kinds = new Set(installedFiles(project).map((file) => path.extname(file)));
    expect([...kinds].sort()).toEqual([
      '',
      '.cc',
      '.gyp',
      '.gypi',
      '.h',
      '.js',
      '.json',
      '.map',
      '.md',
      '.node',
      '.svg',
      '.ts',
      '.txt',
    ]);
  });

  it('has a source behind every compiled file', () => {
    const files = installedFiles(project);
    const compiled = files.filter((file) => /^dist\/.*\.js$/.test(file));
    expect(compiled.length).toBeGreaterThan(5);
    const sources = compiled.map((file) => file.replace(/^dist/, 'src').replace(/js$/, 'ts'));
    expect(files).toEqual(expect.arrayContaining(sources));
  });

  it('has no script that runs at installation', () => {
    const { scripts, gypfile } = JSON.parse(
      readFileSync(path.join(project, 'node_modules/safetensors-mmap/package.json'), 'utf8'),
    );
    expect(Object.keys(scripts).filter((name) => /^(pre|post)?install$/.test(name))).toEqual([]);
    expect(gypfile).toBe(false);
  });
});

describe('installed with scripts allowed', () => {
  const other = path.join(directory, 'other');

  it('builds nothing and is the same, file by file', () => {
    mkdirSync(other);
    install(other, tarball, []);
    expect(installedFiles(other)).toEqual(installedFiles(project));
  });

  it('builds nothing from a lock file either, which knows nothing of "gypfile"', () => {
    run('npm', ['ci', '--prefer-offline', '--no-audit', '--no-fund'], other);
    expect(installedFiles(other)).toEqual(installedFiles(project));
    expect(installedFiles(other)).not.toContain('binding.gyp');
  });
});

describe('the installed package', () => {
  // Without an addon for this platform the library reads instead of mapping, and says so.
  const backend = existsSync(path.join(ROOT, 'prebuilds', PLATFORM)) ? 'mmap' : 'read';
  const expected = { data: [1, 2, 3, 4], shape: [2, 2], isView: true, backend };

  it('opens a file from an ES module', () => {
    expect(JSON.parse(run(process.execPath, ['use.mjs', sample], project))).toEqual(expected);
  });

  it('opens a file from CommonJS', () => {
    expect(JSON.parse(run(process.execPath, ['use.cjs', sample], project))).toEqual(expected);
  });

  it('type-checks in ES modules and CommonJS, declarations included', () => {
    const compile = [path.join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', '.'];
    // Neither the types of node nor a newer library than the target's are asked of the user.
    expect(run(process.execPath, compile, project)).toBe('');
  });

  it('has the command', () => {
    const { version } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8'));
    const command = path.join(
      project,
      'node_modules/.bin',
      process.platform === 'win32' ? 'safetensors.cmd' : 'safetensors',
    );
    expect(run(command, ['--version'], project).trim()).toBe(version);
    expect(run(command, ['ls', sample], project)).toContain('weight');
  });
});

// Owns the order of the house: which file of src may import which, and the rules that every file keeps.
// Refuses to know what the files do. A new file needs a place in the table.

import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { DTYPES } from '../src/dtype.js';

interface Layer {
  readonly floor: string;
  /** The two columns of a floor do not know each other. */
  readonly column?: 'format' | 'memory';
  readonly files: readonly string[];
}

/** From the ground up. A file imports from layers below its own, and not from the other column. */
const HOUSE: readonly Layer[] = [
  { floor: 'F0', files: ['dtype', 'errors', 'natural', 'file-system'] },
  { floor: 'F0', files: ['host', 'allocation'] },
  { floor: 'F1', column: 'memory', files: ['binding'] },
  {
    floor: 'F2',
    column: 'memory',
    files: ['available-memory', 'gathering', 'convert', 'held-ranges', 'pool', 'read-ahead'],
  },
  { floor: 'F2', column: 'memory', files: ['conversion', 'descriptor'] },
  { floor: 'F2', column: 'memory', files: ['origin'] },
  { floor: 'F2', column: 'memory', files: ['source', 'mapped-buffers', 'mapped-conversion', 'mapped-pages'] },
  { floor: 'F2', column: 'memory', files: ['mapping', 'memory', 'reading', 'steps'] },
  { floor: 'F2', column: 'memory', files: ['prefetch'] },
  {
    floor: 'F2',
    column: 'format',
    files: ['json', 'shapes', 'names', 'suggestions', 'diagnosis', 'region'],
  },
  { floor: 'F2', column: 'format', files: ['metadata', 'exact', 'columns'] },
  { floor: 'F2', column: 'format', files: ['scanner', 'layout', 'segments', 'shard-index', 'indexing', 'interop'] },
  { floor: 'F2', column: 'format', files: ['header'] },
  { floor: 'F2', column: 'format', files: ['selection', 'header-steps'] },
  { floor: 'F2', column: 'memory', files: ['piece-writer'] },
  { floor: 'F2', column: 'format', files: ['writing'] },
  { floor: 'F2', column: 'format', files: ['shard-plan'] },
  { floor: 'F3', files: ['tensor'] },
  { floor: 'F3', files: ['payload'] },
  { floor: 'F3', files: ['tensor-input'] },
  { floor: 'F3', files: ['tensor-map'] },
  { floor: 'F3', files: ['safetensors'] },
  { floor: 'F4', files: ['options', 'save-options', 'identity'] },
  { floor: 'F4', files: ['open'] },
  { floor: 'F4', files: ['model-files', 'temporary'] },
  { floor: 'F4', files: ['model'] },
  { floor: 'F4', files: ['kept-metadata'] },
  { floor: 'F4', files: ['serialize'] },
  { floor: 'F4', files: ['replacing'] },
  { floor: 'F4', files: ['save'] },
  { floor: 'F4', files: ['old-model'] },
  { floor: 'F4', files: ['save-model'] },
  { floor: 'F5', files: ['index'] },
];

/** Types of plain data that one column makes for the other. */
const PLANS: readonly string[] = ['SegmentPlan'];

/** The only files that use a disk; the command's may as well. */
const DISK: readonly string[] = [
  'open',
  'identity',
  'model',
  'model-files',
  'descriptor',
  'read-ahead',
  'origin',
  'file-system',
  'available-memory',
  'piece-writer',
  'replacing',
  'temporary',
  'save',
  'save-model',
  'old-model',
];

const PACKAGES: readonly string[] = ['commander', 'picocolors', 'picomatch'];

const SOURCE = fileURLToPath(new URL('../src/', import.meta.url));

const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.replace(/\.ts$/, ''))
  .sort();

interface Import {
  /** A file of src without its suffix, or a package. */
  readonly from: string;
  /** Names that are more than types; the names themselves when they are types. */
  readonly values: readonly string[];
  readonly types: readonly string[];
}

function textOf(file: string): string {
  return readFileSync(`${SOURCE}${file}.ts`, 'utf8');
}

/** Code without its comments. Strings stay; none in src holds the start of a comment before code. */
function codeOf(file: string): string {
  return textOf(file)
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/^\s*\/\/.*$/gm, '')
    .replace(/\s\/\/ .*$/gm, '');
}

function importsOf(file: string): Import[] {
  const pattern = /\b(?:import|export)\s+(?:(type\s+)?(\{[^}]*\}|\*(?:\s+as\s+\w+)?|\w+)\s*from\s*)?'([^']+)'/g;
  return Array.from(codeOf(file).matchAll(pattern), ([, type, clause = '', path]) => {
    const names = clause
      .replace(/[{}]/g, '')
      .split(',')
      .map((name) => name.trim())
      .filter(Boolean);
    const isType = (name: string) => type !== undefined || name.startsWith('type ');
    return {
      from: resolved(file, path!),
      values: names.filter((name) => !isType(name)),
      types: names.filter(isType).map((name) => name.replace(/^type /, '')),
    };
  });
}

function resolved(file: string, path: string): string {
  if (!path.startsWith('.')) return path;
  return new URL(path, `file:///${file}`).pathname.slice(1).replace(/\.js$/, '');
}

const isCommand = (file: string) => file.startsWith('cli/');

function layerOf(file: string): number {
  return isCommand(file) ? HOUSE.length : HOUSE.findIndex((layer) => layer.files.includes(file));
}

/** Whether one file may import another. */
function allowed(file: string, { from, values, types }: Import): boolean {
  if (isCommand(file) && isCommand(from)) return true; // held to be without circles below
  const [user, used] = [layerOf(file), layerOf(from)];
  const [columnOfUser, columnOfUsed] = [HOUSE[user]?.column, HOUSE[used]?.column];
  if (columnOfUser !== undefined && columnOfUsed !== undefined && columnOfUser !== columnOfUsed) {
    return values.length === 0 && types.every((name) => PLANS.includes(name));
  }
  return used < user;
}

describe('the house', () => {
  it('has a place for every file, and a file for every place', () => {
    const placed = HOUSE.flatMap((layer) => layer.files);
    expect(files.filter((file) => !isCommand(file))).toEqual([...placed].sort());
  });

  it.each(files)('%s imports only from below', (file) => {
    const own = importsOf(file).filter(({ from }) => files.includes(from));
    expect(own.filter((one) => !allowed(file, one)).map(({ from }) => from)).toEqual([]);
  });

  it('has no circles', () => {
    const imports = new Map(files.map((file) => [file, importsOf(file).map(({ from }) => from)]));
    const cleared = new Set<string>();
    const visit = (file: string, path: readonly string[]): void => {
      if (cleared.has(file)) return; // else every way through the house is walked
      expect(path, [...path, file].join(' > ')).not.toContain(file);
      for (const from of imports.get(file) ?? []) if (imports.has(from)) visit(from, [...path, file]);
      cleared.add(file);
    };
    for (const file of files) visit(file, []);
  });

  it('is read right: the imports of header', () => {
    expect(importsOf('header').find(({ from }) => from === 'segments')).toEqual({
      from: 'segments',
      values: ['planSegments'],
      types: ['SegmentPlan'],
    });
    expect(importsOf('index')[0]).toEqual({ from: 'host', values: [], types: [] });
  });
});

describe.each(files)('%s', (file) => {
  const code = codeOf(file);

  it('imports what its floor allows from elsewhere', () => {
    const packages = importsOf(file)
      .map(({ from }) => from)
      .filter((from) => !files.includes(from));
    const own = packages.filter((from) => !from.startsWith('node:'));
    expect(own.filter((from) => !(isCommand(file) && PACKAGES.includes(from)))).toEqual([]);
    const disk = packages.filter((from) => /^node:fs\b/.test(from));
    if (!isCommand(file) && !DISK.includes(file)) expect(disk).toEqual([]);
    if (file !== 'binding') expect(code).not.toMatch(/createRequire|node-gyp-build|process\.dlopen/);
  });

  it('has no default export and no `any`', () => {
    expect(code).not.toMatch(/\bexport\s+default\b|\bas\s+default\b/);
    expect(code).not.toMatch(/[:<|&(,]\s*any\b(?!['\s]*:)|\bas\s+any\b|\bany\[\]/);
  });

  it('spells no dtype', () => {
    if (file === 'dtype') return;
    // Within double quotes it is an example in the command's help.
    const spelled = new RegExp(`(['\`])(?:${DTYPES.join('|')})\\1|[{,]\\s*(?:${DTYPES.join('|')})\\s*:`, 'g');
    expect(code.match(spelled) ?? []).toEqual([]);
  });

  it('says first what it owns, and is no drawer', () => {
    const [first] = textOf(file)
      .replace(/^#!.*\n/, '')
      .split('\n');
    expect(first).toMatch(/^\/\/ Owns /);
    expect(file).not.toMatch(/util|helper|common|misc/);
  });
});

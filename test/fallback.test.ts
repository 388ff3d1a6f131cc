// Owns what happens where files cannot be mapped: one warning and reading instead, or an error that says what to do.
// Refuses a real machine without an addon: the loader is pointed at an empty folder.

import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { counting, fileOf, scratch } from './support/files.js';
import { codeOf, errorOf } from './support/outcome.js';

const folder = scratch();
afterAll(() => folder.remove());

const PATH = folder.write('model.safetensors', fileOf([{ name: 'a', dtype: 'U8', shape: [5] }]));
const EMPTY = join(folder.write('empty/placeholder', ''), '..');

/** The library as it is when first imported: nothing loaded, nothing warned of. */
async function freshLibrary(): Promise<typeof import('../src/index.js')> {
  vi.resetModules();
  return import('../src/index.js');
}

const warnings: { code: unknown; message: string }[] = [];

beforeEach(() => {
  warnings.length = 0;
  vi.spyOn(process, 'emitWarning').mockImplementation((message: unknown, options: unknown) => {
    warnings.push({ code: (options as { code?: unknown }).code, message: String(message) });
  });
});

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

describe('without an addon', () => {
  beforeEach(() => vi.stubEnv('SAFETENSORS_MMAP_PREBUILD', EMPTY));

  it('files are read, and one warning says why', async () => {
    const { open, openModel, openSync } = await freshLibrary();
    for (const load of [openSync, open, openSync]) {
      using file = await load(PATH);
      expect([file.backend, file.protection]).toEqual(['read', undefined]);
      expect(file.tensor('a').data).toEqual(counting(5));
    }
    using model = await openModel(PATH);
    expect(model.tensor('a').data).toEqual(counting(5));
    expect([model.backend, model.protection]).toEqual(['read', undefined]);
    expect(warnings).toEqual([
      {
        code: 'SAFETENSORS_MMAP_READS',
        message: expect.stringMatching(/^files are read instead of mapped: the native addon was not found/),
      },
    ]);
  });

  it('backend mmap is refused, with every place that was looked in and what to do', async () => {
    const { open, openSync } = await freshLibrary();
    for (const load of [open, openSync]) {
      const error = await errorOf(() => load(PATH, { backend: 'mmap' }));
      expect(error.code).toBe('BINDING_NOT_FOUND');
      for (const part of [
        `${process.platform}-${process.arch}`,
        join(EMPTY, 'build/Release'),
        join(EMPTY, 'build/Debug'),
        join(EMPTY, 'prebuilds', `${process.platform}-${process.arch}`),
        'the folder of the Node executable',
        'npx node-gyp rebuild',
        "backend: 'read'",
      ]) {
        expect(error.message).toContain(part);
      }
    }
    expect(warnings).toEqual([]);
  });

  it('backend read, readHeader and parse need none and say nothing', async () => {
    const { openSync, parse, readHeader } = await freshLibrary();
    using file = openSync(PATH, { backend: 'read' });
    expect(file.tensor('a').data).toEqual(counting(5));
    expect((await readHeader(PATH)).size).toBe(1);
    expect(parse(fileOf([{ name: 'a', dtype: 'F32', shape: [2] }])).tensor('a').length).toBe(2);
    expect(warnings).toEqual([]);
  });

  it('SAFETENSORS_BACKEND=read is no reason to warn, and =mmap none to fall back', async () => {
    vi.stubEnv('SAFETENSORS_BACKEND', 'read');
    const { openSync } = await freshLibrary();
    openSync(PATH).close();
    expect(warnings).toEqual([]);
    vi.stubEnv('SAFETENSORS_BACKEND', 'mmap');
    expect(await codeOf(() => openSync(PATH))).toBe('BINDING_NOT_FOUND');
  });
});

describe('with an addon that does not load', () => {
  it('the error names the file and the reason, and files are read', async () => {
    const broken = folder.write('broken/build/Release/safetensors_mmap.node', 'no library');
    vi.stubEnv('SAFETENSORS_MMAP_PREBUILD', join(folder.path, 'broken'));
    const { openSync } = await freshLibrary();
    const error = await errorOf(() => openSync(PATH, { backend: 'mmap' }));
    expect(error.code).toBe('BINDING_NOT_FOUND');
    expect(error.message).toContain(broken);
    expect(error.cause).toBeInstanceOf(Error);
    using file = openSync(PATH);
    expect(file.backend).toBe('read');
    expect(warnings).toHaveLength(1);
  });
});

describe('where the runtime takes no external buffers', () => {
  it('files are read, with one warning that says so; backend mmap too, which nobody could install', async () => {
    const { open, openModel, openSync } = await freshLibrary();
    const { nativeBinding } = await import('../src/binding.js');
    const refuses = vi.spyOn(nativeBinding(), 'allowsExternalBuffers').mockReturnValue(false);
    for (const load of [openSync, open]) {
      using file = await load(PATH);
      expect([file.backend, file.protection]).toEqual(['read', undefined]);
      expect(file.tensor('a').data).toEqual(counting(5));
    }
    using model = await openModel(PATH);
    expect([model.tensor('a').length, model.backend]).toEqual([5, 'read']);
    expect(warnings).toEqual([
      {
        code: 'SAFETENSORS_MMAP_READS',
        message: 'files are read instead of mapped: this runtime takes no external buffers',
      },
    ]);
    using asked = openSync(PATH, { backend: 'mmap' });
    expect([asked.backend, warnings.length]).toEqual(['read', 1]);
    refuses.mockRestore();
    using mapped = openSync(PATH);
    expect(mapped.backend).toBe('mmap');
  });
});

describe('SAFETENSORS_BACKEND', () => {
  it.each([
    ['read', undefined, 'read'],
    ['mmap', undefined, 'mmap'],
    ['', undefined, 'mmap'],
    ['read', 'mmap', 'mmap'],
    ['mmap', 'read', 'read'],
  ] as const)('of %j with the option %s opens with %s', async (value, backend, expected) => {
    vi.stubEnv('SAFETENSORS_BACKEND', value);
    const { openSync } = await freshLibrary();
    using file = openSync(PATH, { backend });
    expect(file.backend).toBe(expected);
  });

  it('of another value is refused before the file is looked at', async () => {
    vi.stubEnv('SAFETENSORS_BACKEND', 'disk');
    const { openSync } = await import('../src/index.js');
    expect(await codeOf(() => openSync(join(folder.path, 'missing')))).toBe('INVALID_ARGUMENT');
  });
});

it('a file that was written anew is opened anew', async () => {
  const { openSync } = await import('../src/index.js');
  const path = folder.write('changing', fileOf([{ name: 'a', dtype: 'U8', shape: [1] }]));
  openSync(path).close();
  writeFileSync(path, fileOf([{ name: 'b', dtype: 'U8', shape: [2] }]));
  using file = openSync(path);
  expect([...file.keys()]).toEqual(['b']);
});

it.each([
  ['the package that finds the addon', (binding: string) => binding],
  [
    'a place of its own, as in a bundle of CommonJS',
    (binding: string) => binding.replaceAll('import.meta.url', '({}).url'),
  ],
])('without %s, files are read and large ones made all the same', (_, bundled) => {
  const elsewhere = join(folder.write('bundled/package.json', '{ "type": "module" }'), '..');
  cpSync(new URL('../dist/', import.meta.url), join(elsewhere, 'dist'), { recursive: true });
  const binding = join(elsewhere, 'dist/binding.js');
  writeFileSync(binding, bundled(readFileSync(binding, 'utf8')));
  const source = `
    import { openSync, parse, serialize } from './dist/index.js';
    import { readFileSync } from 'node:fs';
    const [path] = process.argv.slice(2);
    const file = openSync(path);
    let code;
    try { openSync(path, { backend: 'mmap' }); } catch (error) { code = error.code; }
    const large = serialize([['a', { dtype: 'U8', shape: [2 ** 23], data: new Uint8Array(2 ** 23) }]]);
    console.log(JSON.stringify([parse(readFileSync(path)).size, file.backend, [...file.tensor('a').data], code, parse(large).size]));`;
  const script = folder.write('bundled/script.js', source);
  const { stdout } = spawnSync(process.execPath, ['--no-warnings', script, PATH], { encoding: 'utf8' });
  expect(JSON.parse(stdout)).toEqual([1, 'read', [...counting(5)], 'BINDING_NOT_FOUND', 1]);
});

// Owns the list of public names: what a user can import, and that nothing else can be.
// Refuses to test what the names do.

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import * as library from '../src/index.js';

/** Whether a value is a class or a plain function. */
function kindOf(value: unknown): string {
  if (typeof value !== 'function') return typeof value;
  return /^class\b/.test(Function.prototype.toString.call(value)) ? 'class' : 'function';
}

const VALUES = {
  SafeTensors: 'class',
  SafeTensorsError: 'class',
  SafeTensorsModel: 'class',
  TensorMap: 'class',
  TensorView: 'class',
  open: 'function',
  openModel: 'function',
  openSync: 'function',
  parse: 'function',
  readHeader: 'function',
  save: 'function',
  saveModel: 'function',
  serialize: 'function',
};

const TYPES = [
  'Backend',
  'ConversionOptions',
  'DataOf',
  'Dtype',
  'ErrorCode',
  'FileSystem',
  'Header',
  'MetadataInput',
  'Misaligned',
  'NdarrayParts',
  'NumberArray',
  'OpenOptions',
  'OrtParts',
  'PrefetchOptions',
  'Protection',
  'Residency',
  'SaveModelOptions',
  'SaveOptions',
  'SaveProgress',
  'SerializeOptions',
  'Shard',
  'ShardOptions',
  'SliceIndex',
  'TensorData',
  'TensorInfo',
  'TensorInput',
  'TensorInputs',
  'TensorNames',
  'TensorValue',
];

it('exports these values', () => {
  expect(Object.fromEntries(Object.entries(library).map(([name, value]) => [name, kindOf(value)]))).toEqual(VALUES);
});

it('exports these types', () => {
  const text = readFileSync(new URL('../src/index.ts', import.meta.url), 'utf8');
  const types = Array.from(text.matchAll(/export (type )?\{([^}]*)\}/g)).flatMap(([, all, names]) =>
    names!
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '' && (all !== undefined || name.startsWith('type ')))
      .map((name) => name.replace(/^type /, '')),
  );
  expect(types.sort()).toEqual(TYPES);
  expect(text).not.toMatch(/export \*/);
});

it('names its errors and its classes', () => {
  expect(String(new library.SafeTensorsError('CLOSED', 'why'))).toBe('SafeTensorsError: why');
  expect(library.SafeTensors.prototype).toBeInstanceOf(library.TensorMap);
  expect(library.SafeTensorsModel.prototype).toBeInstanceOf(library.TensorMap);
});

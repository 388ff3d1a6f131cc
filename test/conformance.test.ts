// Owns the conformance cases: whole files with a verdict, through every door, with the same answer from each.
// Refuses to explain a rule; its own test file does.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type Header, open, openModel, openSync, parse, readHeader, type SafeTensors } from '../src/index.js';
import { descriptorsIn, scratch } from './support/files.js';
import { failureOf } from './support/outcome.js';

interface Accepted {
  readonly accept: true;
  readonly metadata: Record<string, string> | null;
  /** In any order. */
  readonly tensors: readonly { name: string; dtype: string; shape: number[]; bytes: string }[];
}

interface Refused {
  readonly accept: false;
  /** Any of these is right. */
  readonly codes: readonly string[];
}

type Case = { readonly id: string; readonly what: string; readonly hex: string } & (Accepted | Refused);

const { cases } = JSON.parse(readFileSync(new URL('./conformance/read-cases.json', import.meta.url), 'utf8')) as {
  cases: readonly Case[];
};

const folder = scratch();
afterAll(() => folder.remove());

const DOORS: Record<string, (path: string) => SafeTensors | Promise<SafeTensors>> = {
  parse: (path) => parse(readFileSync(path)),
  openSync: (path) => openSync(path),
  open: (path) => open(path),
  'openSync, reading': (path) => openSync(path, { backend: 'read' }),
  'open, reading': (path) => open(path, { backend: 'read' }),
};

function sorted<T extends { readonly name: string }>(tensors: readonly T[]): T[] {
  return [...tensors].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function expectHeader(header: Header, expected: Accepted): void {
  const described = [...header.entries()].map(([name, { dtype, shape }]) => ({ name, dtype, shape }));
  expect(sorted(described)).toEqual(sorted(expected.tensors).map(({ name, dtype, shape }) => ({ name, dtype, shape })));
  expect(new Map(header.metadata)).toEqual(new Map(Object.entries(expected.metadata ?? {})));
}

it('has cases of both kinds', () => {
  expect(cases.length).toBeGreaterThanOrEqual(150);
  expect(new Set(cases.map(({ accept }) => accept)).size).toBe(2);
  expect(new Set(cases.map(({ id }) => id)).size).toBe(cases.length);
});

describe.each(cases)('$id $what', (one) => {
  const path = join(folder.path, `${one.id}.safetensors`);
  folder.write(`${one.id}.safetensors`, Buffer.from(one.hex, 'hex'));

  if (one.accept) {
    it('is accepted by every door, with the same tensors', async () => {
      for (const door of Object.keys(DOORS)) {
        using file = await DOORS[door]!(path);
        expectHeader(file.header, one);
        const tensors = [...file.values()].map(({ name, bytes }) => ({
          name,
          bytes: Buffer.from(bytes).toString('hex'),
        }));
        expect(sorted(tensors), door).toEqual(sorted(one.tensors).map(({ name, bytes }) => ({ name, bytes })));
      }
      expectHeader(await readHeader(path), one);
      using model = await openModel(path);
      expect(model.size).toBe(one.tensors.length);
      expect(descriptorsIn(folder.path)).toEqual([]);
    });
  } else {
    it('is refused by every door, with the same code', async () => {
      const doors = { ...DOORS, readHeader, openModel };
      const codes: Record<string, string> = {};
      for (const [name, door] of Object.entries(doors)) {
        const failure = await failureOf(() => door(path));
        expect(failure.isFormatError).toBe(true);
        expect(failure.path).toBe(name === 'parse' ? undefined : path);
        codes[name] = failure.code;
      }
      expect(one.codes).toContain(codes.parse);
      expect(new Set(Object.values(codes)), JSON.stringify(codes)).toEqual(new Set([codes.parse]));
      expect(descriptorsIn(folder.path)).toEqual([]);
    });
  }
});

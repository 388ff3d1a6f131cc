// Owns the crossing of every public member with every state that an object can be in: a result, or the documented error.
// Refuses garbage collection, threads and process ends; those are asked of processes of their own.

import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import {
  open,
  openModel,
  openSync,
  parse,
  type SafeTensors,
  type SafeTensorsModel,
  type TensorView,
} from '../src/index.js';
import { liveMappings } from '../src/mapping.js';
import { descriptorsIn, fileOf, scratch, type TensorSpec } from './support/files.js';
import { fileRows, membersOf, modelRows, type Row, type Rows, Throws, tensorRows } from './support/members.js';
import { codeOf } from './support/outcome.js';
import { HANDOVERS } from './support/transfer.js';

const A: TensorSpec = { name: 'a', dtype: 'F32', shape: [2] };
const B: TensorSpec = { name: 'b', dtype: 'U8', shape: [3] };
const CONTENT = fileOf([A, B], { metadata: { format: 'pt' } });

const folder = scratch();
const PATH = folder.write('file.safetensors', CONTENT);
folder.write('sharded/m-1.safetensors', fileOf([A]));
folder.write('sharded/m-2.safetensors', fileOf([B]));
const INDEX = folder.write(
  'sharded/model.safetensors.index.json',
  JSON.stringify({ metadata: { format: 'pt' }, weight_map: { a: 'm-1.safetensors', b: 'm-2.safetensors' } }),
);

afterAll(() => {
  expect(descriptorsIn(folder.path)).toEqual([]);
  folder.remove();
});

const BACKENDS = ['mmap', 'read', 'memory'] as const;
type BackendName = (typeof BACKENDS)[number];

function openAs(backend: BackendName): SafeTensors {
  return backend === 'memory' ? parse(CONTENT.slice()) : openSync(PATH, { backend });
}

const protectionOf = (backend: BackendName) => (backend === 'mmap' ? 'copy-on-write' : undefined);

interface Closable {
  close(): void;
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Ways of having been closed. */
const CLOSINGS: Readonly<Record<string, (file: Closable) => unknown>> = {
  closed: (file) => file.close(),
  'closed twice': (file) => [file.close(), file.close()],
  disposed: (file) => file[Symbol.dispose](),
  'disposed asynchronously': (file) => file[Symbol.asyncDispose](),
  'closed and disposed': (file) => [file.close(), file[Symbol.dispose]()],
};

async function expectRow<T>({ call }: Row<T>, object: T, expected: unknown): Promise<void> {
  if (expected instanceof Throws) expect(await codeOf(() => call(object))).toBe(expected.code);
  else expect(await call(object)).toEqual(expected);
}

const closedOf = <T>(row: Row<T>): unknown => ('closed' in row ? row.closed : row.open);

const labels = <T>(rows: Rows<T>) => [...rows].map(([member, row]) => [String(member), row] as const);

const sorted = (members: readonly PropertyKey[]) => members.map(String).sort();

describe.each(BACKENDS)('a file of backend %s', (backend) => {
  const rows = fileRows({
    path: backend === 'memory' ? undefined : PATH,
    backend,
    protection: protectionOf(backend),
    byteLength: CONTENT.length,
  });

  it('has a row for every member', () => {
    using file = openAs(backend);
    expect(sorted([...rows.keys()])).toEqual(sorted(membersOf(file)));
  });

  it.each(labels(rows))('%s', async (_, row) => {
    using file = openAs(backend);
    await expectRow(row, file, row.open);
    for (const close of Object.values(CLOSINGS)) {
      const closed = openAs(backend);
      const touched = closed.tensor('a').data; // the memory is handed out before it is taken back
      await close(closed);
      await expectRow(row, closed, closedOf(row));
      expect(touched.length).toBe(backend === 'mmap' ? 0 : 2);
    }
  });
});

describe.each([
  ['sharded', 'mmap'],
  ['sharded', 'read'],
  ['file.safetensors', 'mmap'],
  ['file.safetensors', 'read'],
] as const)('a model of %s and backend %s', (given, backend) => {
  const path = join(folder.path, given);
  const isSharded = given === 'sharded';
  const rows = modelRows({
    path,
    indexPath: isSharded ? INDEX : undefined,
    backend,
    protection: protectionOf(backend),
    byteLength: isSharded ? fileOf([A]).length + fileOf([B]).length : CONTENT.length,
    shards: isSharded ? ['m-1.safetensors', 'm-2.safetensors'] : [given, given],
  });
  const load = (): Promise<SafeTensorsModel> => openModel(path, { backend });

  it('has a row for every member', async () => {
    using model = await load();
    expect(sorted([...rows.keys()])).toEqual(sorted(membersOf(model)));
  });

  it.each(labels(rows))('%s', async (member, row) => {
    using model = await load();
    const expected = isSharded && member === 'info' ? expect.objectContaining({ shape: [2] }) : row.open;
    await expectRow(row, model, expected);
    for (const close of Object.values(CLOSINGS)) {
      for (const touch of [true, false]) {
        const closed = await load();
        if (touch) closed.tensor('b').data;
        await close(closed);
        await expectRow(row, closed, closedOf(row));
      }
    }
  });
});

describe.each(BACKENDS)('a tensor of backend %s', (backend) => {
  const rows = tensorRows(backend !== 'read');

  it('has a row for every member', () => {
    using file = openAs(backend);
    expect(sorted([...rows.keys()])).toEqual(sorted(membersOf(file.tensor('a'))));
  });

  it.each(labels(rows))('%s', async (_, row) => {
    using file = openAs(backend);
    await expectRow(row, file.tensor('a'), row.open);
    for (const close of Object.values(CLOSINGS)) {
      for (const touch of [true, false]) {
        const closed = openAs(backend);
        const tensor = closed.tensor('a');
        if (touch) tensor.data;
        await close(closed);
        await expectRow(row, tensor, closedOf(row));
      }
    }
  });

  describe.each(Object.keys(HANDOVERS))('whose buffer was given away by %s', (how) => {
    /** Hands the buffer over; whether the library's own arrays are empty now. */
    const handOver = async (tensor: TensorView): Promise<{ emptied: boolean; elsewhere: ArrayBuffer | undefined }> => {
      const { data } = tensor;
      const elsewhere = await HANDOVERS[how]!(data.buffer as ArrayBuffer);
      return { emptied: data.length === 0, elsewhere };
    };

    it.each(labels(rows))('%s', async (_, row) => {
      using file = openAs(backend);
      const tensor = file.tensor('a');
      const { emptied } = await handOver(tensor);
      // What parse() was given is the caller's: given away, it is gone. A mapping makes a new buffer, a reader reads again.
      const gone = backend === 'memory' && emptied && closedOf(row) instanceof Throws;
      await expectRow(row, tensor, gone ? new Throws('CLOSED') : row.open);
      await expectRow(row, gone ? tensor : file.tensor('a'), gone ? new Throws('CLOSED') : row.open);
      file.close();
      await expectRow(row, tensor, closedOf(row));
    });

    it('keeps what was given away readable after close, and the mapping with it', async () => {
      const file = openAs(backend);
      const before = file.tensor('a').data.byteOffset;
      const { elsewhere } = await handOver(file.tensor('a'));
      file.close();
      expect(await codeOf(() => file.tensor('a'))).toBe('CLOSED');
      if (elsewhere === undefined) return;
      expect([...new Uint8Array(elsewhere, before, 8)]).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    });
  });
});

describe('an array kept after close', () => {
  it('is empty when it was mapped; reads give undefined and writes are ignored', () => {
    const file = openSync(PATH);
    const { data, bytes } = file.tensor('a');
    file.close();
    expect([data.length, bytes.length, data.buffer.byteLength]).toEqual([0, 0, 0]);
    data[0] = 7;
    bytes[0] = 7;
    expect([data[0], bytes[0]]).toEqual([undefined, undefined]);
    expect(() => bytes.set([1])).toThrow(TypeError);
  });

  it.each(['read', 'memory'] as const)('stays as it is when it was %s', (backend) => {
    const file = openAs(backend);
    const { bytes } = file.tensor('a');
    file.close();
    expect([...bytes]).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });
});

describe('iteration', () => {
  it.each(['values', 'entries', Symbol.iterator] as const)(
    'by %o ends with CLOSED when the file is closed in its middle',
    async (by) => {
      const closeWithin = (file: SafeTensors | SafeTensorsModel) => {
        for (const _ of file[by]()) file.close();
      };
      for (const backend of BACKENDS) expect(await codeOf(() => closeWithin(openAs(backend)))).toBe('CLOSED');
      const model = await openModel(INDEX);
      expect(await codeOf(() => closeWithin(model))).toBe('CLOSED');
    },
  );
});

describe('after a failed open', () => {
  it.each(['mmap', 'read'] as const)('with backend %s nothing is held, and the next one works', async (backend) => {
    const mappings = liveMappings();
    const path = folder.write('broken.safetensors', CONTENT.subarray(0, -1));
    for (const attempt of [() => openSync(path, { backend }), () => open(path, { backend }), () => openModel(path)]) {
      expect(await codeOf(attempt)).toBe('TRUNCATED_DATA');
      expect(descriptorsIn(folder.path)).toEqual([]);
      expect(liveMappings()).toBeLessThanOrEqual(mappings); // those of other tests may have been collected
    }
    folder.write('broken.safetensors', CONTENT);
    using file = await open(path, { backend });
    expect(file.tensor('b').data).toEqual(Uint8Array.of(9, 10, 11));
  });
});

// Owns alignment and writing: when `data` is a view, what it is over, and that no write reaches the file.
// Refuses values of dtypes (fixtures.test.ts): arrays are compared by their bytes.

import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { arrayOf, DTYPES } from '../src/dtype.js';
import { openSync, parse, type SafeTensors } from '../src/index.js';
import { fileOf, scratch, type TensorSpec } from './support/files.js';
import { codeOf, failureOf } from './support/outcome.js';

const folder = scratch();
afterAll(() => folder.remove());

const MODES = ['copy', 'view', 'error'] as const;
const BACKENDS = ['mmap', 'read', 'memory'] as const;

// Every dtype after every number of odd bytes, so that each meets addresses of every kind.
const TENSORS: TensorSpec[] = DTYPES.flatMap((dtype) =>
  [0, 1, 2, 4].map((odd) => [
    { name: `odd ${dtype} ${odd}`, dtype: 'U8', shape: [odd] } as const,
    { name: `${dtype} ${odd}`, dtype, shape: [4] },
  ]),
).flat();

const SHIFTS = [0, 1, 2, 3, 4, 5, 6, 7];
const FILES = new Map(
  SHIFTS.map((shift) => {
    const content = fileOf(TENSORS, { shift });
    return [shift, { content, path: folder.write(`shift-${shift}`, content) }];
  }),
);

interface Opened {
  readonly file: SafeTensors;
  readonly content: Uint8Array<ArrayBuffer>;
  /** Address of the file's first byte, modulo 8. */
  readonly base: number;
}

function openAs(backend: (typeof BACKENDS)[number], misaligned: (typeof MODES)[number], shift: number): Opened {
  const { content, path } = FILES.get(shift)!;
  if (backend !== 'memory') return { file: openSync(path, { backend, misaligned }), content, base: 0 };
  const room = new Uint8Array(content.length + 3);
  room.set(content, 3);
  return { file: parse(room.subarray(3), { misaligned }), content, base: 3 };
}

const bytesOf = (array: ArrayBufferView) => Buffer.from(array.buffer, array.byteOffset, array.byteLength);

describe.each(BACKENDS)('backend %s', (backend) => {
  describe.each(MODES)('with misaligned %s', (mode) => {
    it.each(SHIFTS)('of a file whose data starts at %i modulo 8', async (shift) => {
      const { file, content, base } = openAs(backend, mode, shift);
      using _ = file;
      expect(file.header.dataOffset % 8).toBe(shift);
      for (const tensor of file.values()) {
        const { name, dtype } = tensor;
        const { BYTES_PER_ELEMENT: size } = arrayOf(dtype);
        const begin = file.header.dataOffset + tensor.dataOffsets[0];
        const expected = content.subarray(begin, begin + tensor.byteLength);
        const aligned = (base + begin) % size === 0;
        const view =
          tensor.byteLength > 0 && backend !== 'read' && (aligned || (mode === 'view' && backend === 'mmap'));
        expect(tensor.isView, name).toBe(view);
        expect(bytesOf(tensor.bytes).equals(expected), name).toBe(true);

        if (mode === 'error' && backend !== 'read' && !aligned && tensor.byteLength > 0) {
          const failure = await failureOf(() => tensor.data);
          expect(failure).toMatchObject({ code: 'MISALIGNED', tensor: name, isFormatError: false });
          expect(failure.message).toContain(`begins at byte ${begin} of the file`);
          continue;
        }
        const { data } = tensor;
        expect(data).toBeInstanceOf(arrayOf(dtype));
        expect(bytesOf(data).equals(expected), name).toBe(true);
        expect(data.byteOffset % size).toBe(0);
        expect(tensor.data).toBe(data);
        const aliases = data.buffer === tensor.bytes.buffer && data.byteOffset === tensor.bytes.byteOffset;
        if (tensor.byteLength > 0) expect(aliases, name).toBe(view || backend === 'read');
      }
    });
  });
});

describe('Atomics', () => {
  it('in mode copy work on every integer array, whose address is a multiple of its elements', () => {
    for (const shift of SHIFTS) {
      using file = openSync(FILES.get(shift)!.path, { misaligned: 'copy' });
      // A mapping starts at a page, a segment at a multiple of 8 bytes of it; so an offset tells the address.
      expect(Array.from(file.header.planSegments(false).begin, (begin) => begin % 8)).toEqual([0]);
      for (const name of ['I32 1', 'I64 1', 'U16 1', 'I8 1', 'U64 4']) {
        const { data } = file.tensor(name);
        const integers = data as Int32Array;
        expect(Atomics.load(integers, 3)).toBe(data[3]);
        const one = (typeof data[0] === 'bigint' ? 1n : 1) as never;
        Atomics.store(integers, 3, one);
        expect(data[3]).toBe(one);
      }
    }
  });
});

describe.each(['copy-on-write', 'read-only'] as const)('protection %s', (protection) => {
  const { path, content } = FILES.get(0)!;

  it('is what the file says, and reads the same', () => {
    using file = openSync(path, { protection });
    expect(file.protection).toBe(protection);
    for (const tensor of file.values()) {
      const begin = file.header.dataOffset + tensor.dataOffsets[0];
      expect(bytesOf(tensor.bytes).equals(content.subarray(begin, begin + tensor.byteLength))).toBe(true);
    }
  });
});

describe('a write through data', () => {
  const { path, content } = FILES.get(1)!;

  it.each(MODES.slice(0, 2))('with misaligned %s stays in this process', (misaligned) => {
    using file = openSync(path, { misaligned });
    for (const tensor of file.values()) {
      const { bytes, data } = tensor;
      bytes.fill(0);
      if (tensor.isView) expect(bytesOf(data).every((byte) => byte === 0)).toBe(true);
      else data.fill((typeof data[0] === 'bigint' ? 0n : 0) as never);
      expect(bytesOf(file.tensor(tensor.name).bytes).every((byte) => byte === 0)).toBe(true);
    }
    expect(readFileSync(path).equals(content)).toBe(true);
    using again = openSync(path);
    expect(again.tensor('odd U64 4').bytes).not.toContain(0);
  });

  it('reaches the caller’s bytes after parse(), which it is over', async () => {
    const own = content.slice();
    const file = parse(own);
    file.tensor('odd U64 4').bytes.fill(0);
    const begin = file.header.dataOffset + file.info('odd U64 4').data_offsets[0];
    expect([...own.subarray(begin, begin + 4)]).toEqual([0, 0, 0, 0]);
    file.close();
    expect(await codeOf(() => file.tensor('odd U64 4'))).toBe('CLOSED');
  });
});

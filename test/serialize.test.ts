// Owns what serialize() makes of tensors: the reference writer's bytes, what parse() reads back, and what is refused.
// Refuses the disk; save.test.ts has that.

import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arrayOf, bitsOf, DTYPES, type Dtype, impliedDtype } from '../src/dtype.js';
import {
  parse,
  type SerializeOptions,
  serialize,
  type TensorInput,
  type TensorInputs,
  TensorView,
} from '../src/index.js';
import { compareUtf8, planFile } from '../src/writing.js';
import { makeSet, REFERENCE_DTYPES, SETS } from './fixtures/writer_sets.js';
import { failureOf } from './support/outcome.js';

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** The header's text, and where the data starts. */
function headOf(file: Uint8Array): [text: string, dataOffset: number] {
  const end = 8 + Number(new DataView(file.buffer).getBigUint64(0, true));
  return [Buffer.from(file.subarray(8, end)).toString(), end];
}

describe('beside the reference writer', () => {
  it('makes the same bytes, for 200 sets of tensors', () => {
    const differing = Array.from({ length: SETS }, (_, seed) => seed).filter((seed) => {
      const { tensors, metadata, sha256: expected } = makeSet(seed);
      return sha256(serialize(tensors, { metadata })) !== expected;
    });
    expect(SETS).toBe(200);
    expect(differing).toEqual([]);
  });

  it('was asked about every dtype that it can write', () => {
    expect(DTYPES.filter((dtype) => !REFERENCE_DTYPES.includes(dtype))).toEqual(['F6_E3M2', 'F6_E2M3']);
  });
});

const text = fc.string({ unit: 'binary' }).filter((name) => name.isWellFormed() && name !== '__metadata__');
const names = fc.oneof(text, fc.constantFrom('__proto__', 'constructor', '0', '10', '9', '', '\0', '\ue000', '😀'));

interface Given {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: number[];
  readonly data: Uint8Array;
}

const given = fc
  .record({
    name: names,
    dtype: fc.constantFrom(...DTYPES),
    dims: fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 4 }),
    seed: fc.integer(),
  })
  .map(({ name, dtype, dims, seed }): Given => {
    const bits = dims.reduce((product, dim) => product * dim, 1) * bitsOf(dtype);
    const shape = bits % 8 === 0 ? dims : [...dims, 4];
    const byteLength = (shape.reduce((product, dim) => product * dim, 1) * bitsOf(dtype)) / 8;
    return {
      name,
      dtype,
      shape,
      data: Uint8Array.from({ length: byteLength }, (_, i) => Math.imul(i + 1, seed) >>> 9),
    };
  });

const set = fc.uniqueArray(given, { selector: ({ name }) => name, maxLength: 12 });
const metadata = fc.option(fc.uniqueArray(fc.tuple(text, text), { selector: ([key]) => key, maxLength: 4 }), {
  nil: undefined,
});
const alignment = fc.constantFrom(undefined, 8, 64, 4096);

describe('what was serialized', () => {
  it('is read back as it was', () => {
    fc.assert(
      fc.property(set, metadata, alignment, (tensors, notes, boundary) => {
        const options: SerializeOptions = { metadata: notes && new Map(notes), alignment: boundary };
        const bytes = serialize(
          tensors.map(({ name, ...tensor }) => [name, tensor] as const),
          options,
        );
        const file = parse(bytes);
        expect([...file.metadata].sort()).toEqual([...(notes ?? [])].sort());
        expect(file.size).toBe(tensors.length);
        for (const { name, dtype, shape, data } of tensors) {
          const read = file.tensor(name);
          expect([read.dtype, read.shape]).toEqual([dtype, shape]);
          expect(Buffer.compare(read.bytes, data)).toBe(0);
        }
        expect(file.header.dataOffset % (boundary ?? 8)).toBe(0);
        // Written once more, from the views: the same bytes again.
        expect(Buffer.compare(serialize(file, options), bytes)).toBe(0);
      }),
      { numRuns: 300 },
    );
  });

  it('is the same in whatever order and container the tensors come', () => {
    fc.assert(
      fc.property(set, fc.infiniteStream(fc.integer()), (tensors, numbers) => {
        const pairs = tensors.map(({ name, ...tensor }) => [name, tensor] as const);
        const shuffled = pairs.map((pair) => [numbers.next().value as number, pair] as const).sort(([a], [b]) => a - b);
        const expected = serialize(pairs);
        for (const container of [new Map(shuffled.map(([, pair]) => pair)), Object.fromEntries(pairs)]) {
          expect(Buffer.compare(serialize(container), expected)).toBe(0);
        }
      }),
    );
  });

  it('keeps long texts whole, characters of two units included', () => {
    const long = `x${'😀"'.repeat(2 ** 19)}`;
    expect(parse(serialize({}, { metadata: { long } })).metadata.get('long') === long).toBe(true);
  });

  it('has its metadata first, sorted by UTF-8, and whole spaces behind', () => {
    const bytes = serialize(
      { b: new Uint8Array(1) },
      { metadata: { '😀': '1', '\uffff': '2', a: '3' }, alignment: 64 },
    );
    const [header, dataOffset] = headOf(bytes);
    expect(header.trimEnd()).toBe(
      '{"__metadata__":{"a":"3","\uffff":"2","😀":"1"},"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}',
    );
    expect([dataOffset, bytes.length]).toEqual([128, 129]);
  });
});

describe('the order of names', () => {
  it('is that of their UTF-8 bytes', () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(Math.sign(compareUtf8(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
      }),
    );
  });
});

describe('a typed array', () => {
  const ARRAYS = [
    BigInt64Array,
    BigUint64Array,
    Float32Array,
    Float64Array,
    Int8Array,
    Int16Array,
    Int32Array,
    Uint8Array,
    Uint8ClampedArray,
    Uint16Array,
    Uint32Array,
  ] as const;

  it.each(ARRAYS.map((array) => [array.name, array] as const))('%s implies its dtype', (name, array) => {
    const dtype = impliedDtype(name)!;
    const buffer = Uint8Array.from({ length: 32 }, (_, i) => i).buffer;
    const window = new array(buffer, 8, 16 / array.BYTES_PER_ELEMENT);
    const file = parse(serialize({ plain: window, shaped: { shape: [1, window.length], data: window } }));
    expect(Buffer.compare(file.tensor('plain').bytes, new Uint8Array(buffer, 8, 16))).toBe(0);
    expect(file.info('plain')).toMatchObject({ dtype, shape: [window.length] });
    expect(file.info('shaped')).toMatchObject({ dtype, shape: [1, window.length] });
    if (name !== 'Uint8ClampedArray') expect(arrayOf(dtype)).toBe(array);
  });

  it('may be of any class where a dtype is given; so may a DataView, a buffer and a shared one', () => {
    const bytes = Uint8Array.from([1, 2, 3, 4, 5, 6, 7, 8]);
    const shared = new SharedArrayBuffer(8);
    new Uint8Array(shared).set(bytes);
    for (const data of [bytes, bytes.buffer, new DataView(bytes.buffer), shared, new Uint32Array(bytes.buffer)]) {
      const file = parse(serialize({ x: { dtype: 'BF16', shape: [2, 2], data } }));
      expect([...file.tensor('x').bytes]).toEqual([...bytes]);
    }
    expect(parse(serialize({ x: { dtype: 'F4', data: bytes } })).info('x').shape).toEqual([16]);
    expect(parse(serialize({ x: { dtype: 'F64', shape: [], data: bytes } })).info('x').shape).toEqual([]);
  });
});

describe('a slice', () => {
  it('is written as what it shows', () => {
    const file = parse(serialize({ x: { shape: [3, 4], data: Int16Array.from({ length: 12 }, (_, i) => i) } }));
    const x = file.tensor('x');
    const again = parse(serialize({ column: x.slice(null, 1), turned: x.slice([null, null, -1]), rows: x.slice([1]) }));
    expect([...again.tensor('column').data]).toEqual([1, 5, 9]);
    expect([...again.tensor('turned').data]).toEqual([8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3]);
    expect(again.info('rows')).toMatchObject({ dtype: 'I16', shape: [2, 4] });
  });
});

describe('refused', () => {
  const one = new Uint8Array(1);
  const of = (tensor: unknown): TensorInputs => ({ x: tensor as TensorInput });

  it.each<[string, TensorInputs, string, RegExp]>([
    ['__metadata__ as a name', { __metadata__: one }, 'INVALID_TENSOR', /"__metadata__"/],
    ['a lone surrogate in a name', { '\ud800': one }, 'INVALID_TENSOR', /"\\ud800" is not well-formed/],
    ['a name twice', [['x', one] as const, ['x', one] as const], 'INVALID_TENSOR', /"x" is given twice/],
    ['a name that is a number', [[1, one]] as unknown as TensorInputs, 'INVALID_TENSOR', /of type number/],
    ['a shape that is too large', of({ shape: [2], data: one }), 'INVALID_TENSOR', /takes 2 bytes, but its data has 1/],
    ['a shape with a fraction', of({ shape: [0.5], data: one }), 'INVALID_TENSOR', /0\.5 in its shape/],
    ['a negative shape', of({ shape: [-1], data: one }), 'INVALID_TENSOR', /-1 in its shape/],
    [
      'a shape beyond all numbers',
      of({ shape: [2 ** 40, 2 ** 40, 0], data: one }),
      'INVALID_TENSOR',
      /larger than any/,
    ],
    ['a shape of text', of({ shape: '1', data: one }), 'INVALID_TENSOR', /is no array/],
    ['a dtype of its own', of({ dtype: 'F31', data: one }), 'INVALID_TENSOR', /"F31", which is none/],
    ['a buffer without a dtype', of({ data: one.buffer }), 'INVALID_TENSOR', /needs a dtype/],
    ['half a byte', of({ dtype: 'F4', shape: [1], data: one }), 'INVALID_TENSOR', /4 bits, not a whole number/],
    ['a byte of 6-bit elements', of({ dtype: 'F6_E2M3', data: one }), 'INVALID_TENSOR', /no whole number of elements/],
    ['a third of an element', of({ dtype: 'F32', data: one }), 'INVALID_TENSOR', /no whole number of elements of F32/],
    ['numbers', of([1, 2]), 'INVALID_TENSOR', /"x" is none/],
    ['nothing', of(undefined), 'INVALID_TENSOR', /"x" is none/],
    ['data of text', of({ dtype: 'U8', data: 'abc' }), 'INVALID_TENSOR', /has no data/],
    [
      'a promise, as of a forgotten await',
      Promise.resolve({ x: one }) as unknown as TensorInputs,
      'INVALID_ARGUMENT',
      /plain object/,
    ],
    ['a buffer alone', new ArrayBuffer(8) as unknown as TensorInputs, 'INVALID_ARGUMENT', /plain object/],
    ['an object with the class alone', of(Object.create(TensorView.prototype)), 'INVALID_TENSOR', /./],
    [
      'a shape that has no text',
      of({ shape: [Object.create(null)], data: one }),
      'INVALID_TENSOR',
      /of type object in its shape/,
    ],
    [
      'a shape of very many dimensions',
      of({ shape: new Array(1e5).fill(2), data: one }),
      'INVALID_TENSOR',
      /^.{1,300}$/,
    ],
    ['a list of arrays', [one] as unknown as TensorInputs, 'INVALID_ARGUMENT', /pairs of a name/],
    ['an array alone', one as unknown as TensorInputs, 'INVALID_ARGUMENT', /by their names/],
    ['null', null as unknown as TensorInputs, 'INVALID_ARGUMENT', /by their names/],
  ])('%s', async (_, tensors, code, message) => {
    const error = await failureOf(() => serialize(tensors));
    expect(error.code).toBe(code);
    expect(error.message).toMatch(message);
  });

  it.each<[string, unknown, RegExp]>([
    ['a number', { a: 1 }, /"a" is 1; it has to be a string/],
    ['half a character', { a: '\udc00' }, /well-formed/],
    ['half a character as a key', new Map([['\udc00', 'a']]), /a key/],
    ['a key that is a number', new Map([[1, 'a']]), /a key of the metadata is 1;/],
    ['text', 'abc', /object or a Map/],
    ['a list', ['abc'], /object or a Map/],
    ['a promise', Promise.resolve(), /object or a Map/],
  ])('metadata with %s', async (_, wrong, message) => {
    const error = await failureOf(() => serialize({}, { metadata: wrong as Record<string, string> }));
    expect(error.code).toBe('INVALID_TENSOR');
    expect(error.message).toMatch(message);
  });

  it.each([0, 4, 12, 2 ** 22, Number.NaN, '8' as unknown as number, Object.create(null)])(
    'an alignment of %s',
    async (wrong) => {
      expect(await failureOf(() => serialize({}, { alignment: wrong }))).toMatchObject({ code: 'INVALID_ARGUMENT' });
    },
  );

  it('options that are none', async () => {
    for (const wrong of [null, 1, 'x', () => {}] as unknown as SerializeOptions[]) {
      expect(await failureOf(() => serialize({}, wrong))).toMatchObject({ code: 'INVALID_ARGUMENT' });
    }
  });

  it('memory that is gone, instead of an empty tensor', async () => {
    const gone = <T extends ArrayBuffer>(buffer: T): T => {
      structuredClone(buffer, { transfer: [buffer] });
      return buffer;
    };
    const cut = (): ArrayBuffer => Reflect.construct(ArrayBuffer, [16, { maxByteLength: 16 }]);
    const buffers = [cut(), cut()];
    const views = [new DataView(buffers[0]!, 8), new Float32Array(buffers[1]!, 8)];
    for (const buffer of buffers) Reflect.get(buffer, 'resize').call(buffer, 4);
    const detached = new Float32Array(4);
    const viewed = new DataView(new ArrayBuffer(8));
    for (const { buffer } of [detached, viewed]) gone(buffer);
    for (const data of [detached, viewed, gone(new ArrayBuffer(8)), ...views]) {
      const error = await failureOf(() => serialize({ x: { dtype: 'F32', data } }));
      expect(error).toMatchObject({ code: 'INVALID_TENSOR', tensor: 'x' });
      expect(error.message).toMatch(/"x" is gone/);
    }
    expect(parse(serialize({ x: new Float32Array(0) })).info('x').shape).toEqual([0]);
    // Taken away by a getter that is read after it.
    const first = new Float32Array(4);
    const second = {
      get data() {
        gone(first.buffer);
        return new Uint8Array(1);
      },
    };
    expect(await failureOf(() => serialize({ first, second }))).toMatchObject({
      code: 'INVALID_TENSOR',
      tensor: 'first',
    });
  });

  it('a shape that changes while it is looked at is read once', () => {
    class Odd extends Array<number> {
      static override get [Symbol.species](): ArrayConstructor {
        throw new Error('asked');
      }
    }
    const shape = Odd.of(2, 2);
    expect(parse(serialize({ x: { shape, data: new Uint8Array(4) } })).info('x').shape).toEqual([2, 2]);
  });

  it('texts whose escapes no string could hold', async () => {
    const huge = '\0'.repeat(90_000_000);
    expect(await failureOf(() => serialize({}, { metadata: { huge } }))).toMatchObject({ code: 'INVALID_TENSOR' });
  });

  it('a header over the limit, and a file beyond a buffer', async () => {
    const huge = 'x'.repeat(100_000_001);
    expect(await failureOf(() => serialize({}, { metadata: { huge } }))).toMatchObject({ code: 'INVALID_TENSOR' });
    const tensor = { name: 'x', dtype: 'U8', shape: [], byteLength: Number.MAX_SAFE_INTEGER } as const;
    expect(await failureOf(() => planFile([tensor], undefined))).toMatchObject({ code: 'INVALID_TENSOR' });
  });

  it('a tensor of a closed file', async () => {
    const file = parse(serialize({ x: one }));
    const view = file.tensor('x');
    file.close();
    expect(await failureOf(() => serialize({ x: view }))).toMatchObject({ code: 'CLOSED' });
  });
});

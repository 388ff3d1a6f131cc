// Owns the table of everything public on the three classes: how to call it, and what it says while open and closed.
// Refuses to choose the states; states.test.ts crosses them.

import { inspect } from 'node:util';
import { expect } from 'vitest';
import type { SafeTensors, SafeTensorsModel, TensorView } from '../../src/index.js';

/** A result that is an error with this code. */
export class Throws {
  readonly code: string;

  constructor(code: string) {
    this.code = code;
  }
}

const CLOSED = new Throws('CLOSED');

export interface Row<T> {
  readonly call: (object: T) => unknown;
  readonly open: unknown;
  /** After close(); the same as open where it is absent. */
  readonly closed?: unknown;
}

export type Rows<T> = ReadonlyMap<PropertyKey, Row<T>>;

/** All public members of an object, its classes' included. */
export function membersOf(object: object): PropertyKey[] {
  const found = new Set<PropertyKey>();
  for (let owner = object; owner !== Object.prototype; owner = Object.getPrototypeOf(owner)) {
    for (const key of Reflect.ownKeys(owner)) if (key !== 'constructor') found.add(key);
  }
  return [...found];
}

type Face = SafeTensors | SafeTensorsModel;

const INFO = { dtype: 'F32', shape: [2], data_offsets: [0, 8] };

/** Names seen by a callback or an iteration. */
function namesOf(entries: Iterable<readonly [string, TensorView]>): string[] {
  return Array.from(entries, ([name, tensor]) => `${name}=${tensor.name}`);
}

function seenByForEach(file: Face): unknown {
  const seen: unknown[] = [];
  file.forEach((tensor, name, map) => {
    seen.push(tensor.name, name, map === file);
  });
  return seen;
}

/** Every report of a prefetch, the last per call only. */
async function progressOf(file: Face): Promise<unknown> {
  const seen: number[][] = [];
  await file.prefetch(undefined, { onProgress: (done, total) => seen.push([done, total]) });
  return seen.slice(-1);
}

/** What a file and a model have in common. Both hold `a`, an F32 of two elements, and `b`, a U8 of three. */
function commonRows(): [PropertyKey, Row<Face>][] {
  return [
    ['size', { call: (file) => file.size, open: 2 }],
    ['closed', { call: (file) => file.closed, open: false, closed: true }],
    ['has', { call: (file) => [file.has('a'), file.has('c')], open: [true, false] }],
    ['get', { call: (file) => [file.get('a')?.name, file.get('c')], open: ['a', undefined], closed: CLOSED }],
    ['tensor', { call: (file) => file.tensor('b').name, open: 'b', closed: CLOSED }],
    ['info', { call: (file) => file.info('a'), open: INFO }],
    ['keys', { call: (file) => [...file.keys()], open: ['a', 'b'] }],
    ['values', { call: (file) => Array.from(file.values(), ({ name }) => name), open: ['a', 'b'], closed: CLOSED }],
    ['entries', { call: (file) => namesOf(file.entries()), open: ['a=a', 'b=b'], closed: CLOSED }],
    [Symbol.iterator, { call: (file) => namesOf(file), open: ['a=a', 'b=b'], closed: CLOSED }],
    ['forEach', { call: seenByForEach, open: ['a', 'a', true, 'b', 'b', true], closed: CLOSED }],
    ['fileSystem', { call: (file) => typeof file.fileSystem?.name, open: expect.stringMatching(/string|undefined/) }],
    ['prefetch', { call: (file) => progressOf(file), open: [[11, 11]], closed: CLOSED }],
    ['residency', { call: (file) => file.residency('a').bytes, open: 8, closed: CLOSED }],
    ['evict', { call: (file) => file.evict(['a', 'b']), open: undefined, closed: CLOSED }],
    ['close', { call: (file) => file.close(), open: undefined }],
    [Symbol.dispose, { call: (file) => file[Symbol.dispose](), open: undefined }],
    [Symbol.asyncDispose, { call: (file) => file[Symbol.asyncDispose](), open: undefined }],
  ];
}

export function fileRows(expected: {
  readonly path: string | undefined;
  readonly backend: string;
  readonly protection: string | undefined;
  readonly byteLength: number;
}): Rows<SafeTensors> {
  return new Map<PropertyKey, Row<SafeTensors>>([
    ...commonRows(),
    ['path', { call: (file) => file.path, open: expected.path }],
    ['backend', { call: (file) => file.backend, open: expected.backend }],
    ['protection', { call: (file) => file.protection, open: expected.protection }],
    ['byteLength', { call: (file) => file.byteLength, open: expected.byteLength }],
    ['metadata', { call: (file) => [...file.metadata], open: [['format', 'pt']] }],
    ['header', { call: (file) => file.header.size, open: 2 }],
    [Symbol.toStringTag, { call: (file) => file[Symbol.toStringTag], open: 'SafeTensors' }],
    [inspect.custom, { call: (file) => inspect(file).split(', ').at(-1), open: expected.backend, closed: 'closed' }],
  ]);
}

export function modelRows(expected: {
  readonly path: string;
  readonly indexPath: string | undefined;
  readonly backend: string;
  readonly protection: string | undefined;
  readonly byteLength: number;
  /** Of `a` and of `b`. */
  readonly shards: readonly [string, string];
}): Rows<SafeTensorsModel> {
  const files = [...new Set(expected.shards)];
  return new Map<PropertyKey, Row<SafeTensorsModel>>([
    ...commonRows(),
    ['path', { call: (model) => model.path, open: expected.path }],
    ['indexPath', { call: (model) => model.indexPath, open: expected.indexPath }],
    ['backend', { call: (model) => model.backend, open: expected.backend }],
    ['protection', { call: (model) => model.protection, open: expected.protection }],
    ['byteLength', { call: (model) => model.byteLength, open: expected.byteLength }],
    ['metadata', { call: (model) => [...model.metadata], open: [['format', 'pt']] }],
    ['shards', { call: (model) => model.shards.map(({ file }) => file), open: files }],
    ['shardOf', { call: (model) => [model.shardOf('a'), model.shardOf('b')], open: expected.shards }],
    [Symbol.toStringTag, { call: (model) => model[Symbol.toStringTag], open: 'SafeTensorsModel' }],
  ]);
}

/** The rows of tensor `a`, the bytes 1 to 8; what reads them is in `READS`. */
export function tensorRows(alias: boolean): Rows<TensorView> {
  const bytes = [1, 2, 3, 4, 5, 6, 7, 8];
  const raw = (array: ArrayBufferView) => [...new Uint8Array(array.buffer, array.byteOffset, array.byteLength)];
  const copied = (tensor: TensorView) => {
    const target = new Uint8Array(9);
    return [tensor.copyTo(target, 1), ...target];
  };
  return new Map<PropertyKey, Row<TensorView>>([
    ['name', { call: (tensor) => tensor.name, open: 'a' }],
    ['dtype', { call: (tensor) => tensor.dtype, open: 'F32' }],
    ['shape', { call: (tensor) => tensor.shape, open: [2] }],
    ['length', { call: (tensor) => tensor.length, open: 2 }],
    ['byteLength', { call: (tensor) => tensor.byteLength, open: 8 }],
    ['dataOffsets', { call: (tensor) => tensor.dataOffsets, open: [0, 8] }],
    ['isView', { call: (tensor) => tensor.isView, open: alias }],
    ['is', { call: (tensor) => [tensor.is('F32'), tensor.is('BF16')], open: [true, false] }],
    ['bytes', { call: (tensor) => raw(tensor.bytes), open: bytes, closed: CLOSED }],
    ['data', { call: (tensor) => raw(tensor.data), open: bytes, closed: CLOSED }],
    ['slice', { call: (tensor) => raw(tensor.slice([1, 2]).data), open: [5, 6, 7, 8], closed: CLOSED }],
    [
      'shard',
      { call: (tensor) => raw(tensor.shard({ dim: 0, rank: 1, of: 2 }).data), open: [5, 6, 7, 8], closed: CLOSED },
    ],
    ['copyTo', { call: copied, open: [8, 0, ...bytes], closed: CLOSED }],
    ['toFloat32Array', { call: (tensor) => raw(tensor.toFloat32Array()), open: bytes, closed: CLOSED }],
    ['toFloat32', { call: async (tensor) => raw(await tensor.toFloat32()), open: bytes, closed: CLOSED }],
    ['toNdarray', { call: (tensor) => raw(tensor.toNdarray().data), open: bytes, closed: CLOSED }],
    ['toOrt', { call: (tensor) => raw(tensor.toOrt()[1]), open: bytes, closed: CLOSED }],
    [Symbol.toStringTag, { call: (tensor) => tensor[Symbol.toStringTag], open: 'TensorView' }],
    [inspect.custom, { call: (tensor) => inspect(tensor), open: 'TensorView "a" F32 [2]' }],
  ]);
}

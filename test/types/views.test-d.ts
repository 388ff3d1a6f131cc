// Owns the types of views: the class of `data` by dtype, and the face of a Map. Compiled, never run.
// Refuses options (options.test-d.ts).

import { expectTypeOf } from 'vitest';
import type {
  DataOf,
  Dtype,
  Header,
  SafeTensors,
  SafeTensorsModel,
  TensorData,
  TensorInfo,
  TensorMap,
  TensorView,
} from '../../src/index.js';

type Data<D extends Dtype> = TensorView<D>['data'];

expectTypeOf<Data<'F64'>>().toExtend<Float64Array>();
expectTypeOf<Data<'F32'>>().toExtend<Float32Array>();
expectTypeOf<Data<'C64'>>().toExtend<Float32Array>();
expectTypeOf<Data<'F16' | 'BF16'>>().toExtend<Uint16Array>();
expectTypeOf<Data<'I64'>>().toExtend<BigInt64Array>();
expectTypeOf<Data<'U64'>>().toExtend<BigUint64Array>();
expectTypeOf<Data<'I32'>>().toExtend<Int32Array>();
expectTypeOf<Data<'U32'>>().toExtend<Uint32Array>();
expectTypeOf<Data<'I16'>>().toExtend<Int16Array>();
expectTypeOf<Data<'U16'>>().toExtend<Uint16Array>();
expectTypeOf<Data<'I8'>>().toExtend<Int8Array>();
expectTypeOf<Data<'U8' | 'BOOL' | 'F4' | 'F6_E2M3' | 'F6_E3M2'>>().toExtend<Uint8Array>();
expectTypeOf<Data<'F8_E5M2' | 'F8_E4M3' | 'F8_E8M0' | 'F8_E4M3FNUZ' | 'F8_E5M2FNUZ'>>().toExtend<Uint8Array>();

expectTypeOf<Data<'F32'>>().not.toExtend<Float64Array>();
expectTypeOf<Data<'BF16'>>().not.toExtend<Float32Array>();
expectTypeOf<Data<'F32'>[number]>().toEqualTypeOf<number>();
expectTypeOf<Data<'I64'>[number]>().toEqualTypeOf<bigint>();
expectTypeOf<Data<Dtype>>().toEqualTypeOf<TensorData>();
expectTypeOf<DataOf<'F16'>>().toEqualTypeOf<Data<'F16'>>();

// @ts-expect-error: no dtype of the format
export type NoDtype = TensorView<'F33'>;

expectTypeOf<TensorView['dtype']>().toEqualTypeOf<Dtype>();
expectTypeOf<TensorView<'F32'>['dtype']>().toEqualTypeOf<'F32'>();
expectTypeOf<TensorView<'F32'>>().toExtend<TensorView>();
expectTypeOf<TensorView['shape']>().toEqualTypeOf<readonly number[]>();
expectTypeOf<TensorView['bytes']>().toExtend<Uint8Array>();

expectTypeOf<SafeTensors>().toExtend<ReadonlyMap<string, TensorView>>();
expectTypeOf<SafeTensorsModel>().toExtend<ReadonlyMap<string, TensorView>>();
expectTypeOf<SafeTensors | SafeTensorsModel>().toExtend<TensorMap>();
expectTypeOf<SafeTensors['metadata']>().toEqualTypeOf<ReadonlyMap<string, string>>();
expectTypeOf<SafeTensors['path']>().toEqualTypeOf<string | undefined>();
expectTypeOf<Header>().toExtend<Iterable<[string, TensorInfo]>>();

/** Narrowing by dtype is the caller's word, as the dtype of a file is known at run time only. */
export function weights(file: SafeTensors): Float32Array {
  const tensor = file.tensor('w');
  if (tensor.dtype !== 'F32') throw new Error(tensor.dtype);
  return (tensor as TensorView<'F32'>).data;
}

export function refusals(file: SafeTensors, tensor: TensorView): void {
  // @ts-expect-error: a ReadonlyMap has no set
  file.set('a', tensor);
  // @ts-expect-error: metadata is read-only
  file.metadata.set('a', 'b');
  // @ts-expect-error: a shape is read-only
  tensor.shape[0] = 1;
  // @ts-expect-error: an info is read-only
  file.info('a').data_offsets[0] = 1;
  // @ts-expect-error: a name is a string
  file.tensor(7);
  // @ts-expect-error: the dtype is what the file says
  tensor.dtype = 'F32';
}

export function narrowing(tensor: TensorView): void {
  if (tensor.is('F32')) expectTypeOf(tensor.data).toExtend<Float32Array>();
  if (tensor.is('I64')) expectTypeOf(tensor.slice(0).data).toExtend<BigInt64Array>();
  if (tensor.is('F16')) expectTypeOf(tensor.toOrt()[0]).toEqualTypeOf<'float16'>();
}

export async function disposal(file: SafeTensors, model: SafeTensorsModel): Promise<void> {
  using first = file;
  await using second = model;
  for (const [name, tensor] of first)
    expectTypeOf([name, tensor] as const).toEqualTypeOf<readonly [string, TensorView]>();
  for (const name of second.keys()) expectTypeOf(name).toEqualTypeOf<string>();
}

// Owns a consumer in TypeScript that is an ES module. It is only type-checked, with the declarations checked too.
import { type Dtype, open, type SafeTensors, SafeTensorsError, type TensorView } from 'safetensors-mmap';

export async function sum(path: string): Promise<number> {
  const file: SafeTensors = await open(path, { backend: 'mmap', protection: 'read-only' });
  const view: TensorView = file.tensor('weight');
  const dtype: Dtype = view.dtype;
  if (dtype !== 'F32') throw new SafeTensorsError('INVALID_ARGUMENT', dtype);
  const data: Float32Array = (view as TensorView<'F32'>).data;
  file.close();
  return data.reduce((a, b) => a + b, 0);
}

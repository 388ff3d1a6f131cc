// Owns the numbers of `safetensors info`: sizes, counts by dtype, alignment, over one file or many shards.
// Refuses to format them and to read data.

import { bitsOf } from '../dtype.js';
import { type Dtype, type Header, openModel } from '../index.js';

interface DtypeCount {
  tensors: number;
  /** Elements, of all tensors together. */
  parameters: number;
  /** Bytes of data. */
  byteLength: number;
}

/** One file, alone or as a shard. */
export interface FileSummary {
  readonly file: string;
  readonly tensors: number;
  /** Bytes of the whole file. */
  readonly byteLength: number;
  /** Bytes of the header alone, without the 8 that hold its length. */
  readonly headerLength: number;
  /** Where the data begins in the file; aligned when a multiple of 8. */
  readonly dataOffset: number;
  /** Tensors that begin at no multiple of their element size, so that `data` must copy them. */
  readonly misalignedTensors: number;
  readonly metadata: ReadonlyMap<string, string>;
}

export interface Summary {
  readonly path: string;
  /** Bytes of all files together. */
  readonly byteLength: number;
  readonly tensors: number;
  /** Tensors in shards that the index leaves out; counted nowhere else but in `files`. */
  readonly unlistedTensors: number;
  readonly parameters: number;
  /** Dtypes that occur, the one with the most bytes first. */
  readonly dtypes: readonly (readonly [Dtype, Readonly<DtypeCount>])[];
  /** The index's metadata for a sharded model, else the file's. */
  readonly metadata: ReadonlyMap<string, string>;
  readonly sharded: boolean;
  readonly files: readonly FileSummary[];
}

/** Sums up a file, an index or a directory from its headers. Rejects as `openModel` does. */
export async function summarize(path: string): Promise<Summary> {
  const model = await openModel(path);
  try {
    const counts = new Map<Dtype, DtypeCount>();
    const sharded = model.indexPath !== undefined;
    const isInModel = sharded ? (name: string) => model.has(name) : () => true;
    const files = model.shards.map(({ file, header }) => summarizeFile(file, header, isInModel, counts));
    const dtypes = [...counts].sort(([a, x], [b, y]) => y.byteLength - x.byteLength || (a < b ? -1 : 1));
    return {
      path: model.path,
      byteLength: model.byteLength,
      tensors: model.size,
      unlistedTensors: sum(files, (file) => file.tensors) - model.size,
      parameters: sum(dtypes, ([, count]) => count.parameters),
      dtypes,
      metadata: new Map(model.metadata),
      sharded,
      files,
    };
  } finally {
    model.close();
  }
}

function summarizeFile(
  file: string,
  header: Header,
  isInModel: (name: string) => boolean,
  counts: Map<Dtype, DtypeCount>,
): FileSummary {
  const { dataOffset } = header;
  let misalignedTensors = 0;
  for (const [name, { dtype, shape, data_offsets: offsets }] of header.entries()) {
    if (!isInModel(name)) continue;
    const [begin, end] = offsets;
    const count = counts.get(dtype) ?? { tensors: 0, parameters: 0, byteLength: 0 };
    counts.set(dtype, count);
    count.tensors += 1;
    count.parameters += shape.reduce((product, dimension) => product * dimension, 1);
    count.byteLength += end - begin;
    // An empty tensor has no address, an element below a byte no alignment.
    if (end > begin && (dataOffset + begin) % Math.max(1, bitsOf(dtype) / 8) !== 0) misalignedTensors += 1;
  }
  const { size: tensors, byteLength, headerLength, metadata } = header;
  return { file, tensors, byteLength, headerLength, dataOffset, misalignedTensors, metadata };
}

function sum<T>(items: readonly T[], numberOf: (item: T) => number): number {
  return items.reduce((total, item) => total + numberOf(item), 0);
}

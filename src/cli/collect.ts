// Owns the way from a path to the rows of a listing: headers are read, data never is.
// Refuses to print and to order; the rows come as the files have them.

import { openModel, type TensorInfo } from '../index.js';

/** One tensor of a listing. */
export interface Row {
  readonly name: string;
  /** As the header has it; offsets are bytes from the end of that header, half open. */
  readonly info: TensorInfo;
  /** The shard's file name; undefined when the model is one file. */
  readonly shard: string | undefined;
}

export interface Listing {
  /** Shards in natural order, each by offset. */
  readonly rows: readonly Row[];
  /** Tensors in the model, those that the filter dropped included. */
  readonly total: number;
  readonly sharded: boolean;
}

/** The tensors of a file, an index or a directory whose name passes `keep`. Rejects as `openModel` does. */
export async function collect(path: string, keep: (name: string) => boolean): Promise<Listing> {
  const model = await openModel(path);
  try {
    const sharded = model.indexPath !== undefined;
    const rows: Row[] = [];
    for (const { file, header } of model.shards) {
      const shard = sharded ? file : undefined;
      for (const [name, info] of header.entries()) {
        // A shard may hold tensors that the index leaves out: they are no part of the model.
        if (keep(name) && (!sharded || model.has(name))) rows.push({ name, info, shard });
      }
    }
    return { rows, total: model.size, sharded };
  } finally {
    model.close();
  }
}

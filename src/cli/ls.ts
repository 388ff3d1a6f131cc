// Owns `safetensors ls`: the table of tensors and its JSON twin.
// Refuses to touch the file system and the stream: rows come in, pieces of text go out.

import type { Listing, Row } from './collect.js';
import { type Column, grouped, label, type Paint, printable, printableJson, table } from './terminal.js';

/** The table, then a line with the total. Without `heading` only the rows, for other programs. */
export function* listingText(
  listing: Listing,
  options: { readonly paint: Paint; readonly heading: boolean },
): Generator<string> {
  const { paint, heading } = options;
  const columns: Column<Row>[] = [
    { title: 'Tensor', cell: ({ name }) => label(name) },
    { title: 'Dtype', cell: ({ info }) => info.dtype, paint: paint.cyan },
    { title: 'Shape', cell: ({ info }) => listOf(info.shape), paint: paint.green },
    { title: 'Offsets', cell: ({ info }) => listOf(info.data_offsets), paint: paint.dim },
  ];
  if (listing.sharded) columns.push({ title: 'Shard', cell: ({ shard }) => printable(shard ?? ''), paint: paint.dim });
  yield* table(columns, listing.rows, { paint, heading });
  if (heading) yield `${totalOf(listing)}\n`;
}

function listOf(numbers: readonly number[]): string {
  return `[${numbers.join(', ')}]`;
}

function totalOf({ rows, total }: Listing): string {
  const noun = total === 1 ? 'tensor' : 'tensors';
  const shown = rows.length === total ? grouped(total) : `${grouped(rows.length)} of ${grouped(total)}`;
  return `Total: ${shown} ${noun}`;
}

/** One JSON document, an array with an object a line, in the fields' spelling of the file. */
export function* listingJson({ rows }: Listing): Generator<string> {
  let separator = '[\n';
  for (const { name, info, shard } of rows) {
    const { dtype, shape, data_offsets } = info;
    // JSON.stringify leaves the shard out where there is none.
    yield `${separator}  ${printableJson(JSON.stringify({ name, dtype, shape, data_offsets, shard }))}`;
    separator = ',\n';
  }
  yield rows.length === 0 ? '[]\n' : '\n]\n';
}

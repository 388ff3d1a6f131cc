// Owns the orders of a listing: by name, by place in the file, by size.
// Refuses the locale: the same file lists in the same order everywhere.

import { compareUnits, naturalKey } from '../natural.js';
import type { Row } from './collect.js';

/** What `ls --sort` takes; the first is the default. */
export const SORTS = ['name', 'offset', 'size'] as const;
export type Sort = (typeof SORTS)[number];

/**
 * The rows in the order asked for: a total one, layers.2 before layers.10.
 * They arrive in file order, so 'offset' is the order they have.
 */
export function sortRows(rows: readonly Row[], by: Sort): readonly Row[] {
  if (by === 'offset') return rows;
  // Half a million names are compared ten million times: their keys are made once.
  const keys = rows.map(({ name }) => naturalKey(name));
  const positions = rows.map((_, position) => position);
  const byName = (a: number, b: number) =>
    compareUnits(keys[a]!, keys[b]!) || compareUnits(rows[a]!.name, rows[b]!.name);
  const bySize = (a: number, b: number) => sizeOf(rows[b]!) - sizeOf(rows[a]!) || byName(a, b);
  positions.sort(by === 'size' ? bySize : byName);
  return positions.map((position) => rows[position]!);
}

function sizeOf({ info }: Row): number {
  return info.data_offsets[1] - info.data_offsets[0];
}

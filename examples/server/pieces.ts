// Owns the cutting of a tensor of any shape and size into pieces that are quickly converted, and the choice of some of them.
// Refuses to read.

import type { TensorView } from 'safetensors-mmap';

/** Some pieces of a tensor, in order. */
export interface Pieces {
  readonly count: number;
  /** Piece number `index`. */
  piece(index: number): TensorView;
}

/**
 * Cuts a tensor into contiguous pieces of at most `most` elements each. The dimensions before one that is cut are gone
 * through index by index, those behind it stay whole.
 */
export function piecesOf(tensor: TensorView, most: number): Pieces {
  const { shape, length } = tensor;
  if (length <= most) return { count: length === 0 ? 0 : 1, piece: () => tensor };
  let axis = shape.length;
  let inner = 1;
  while (axis > 0 && inner * shape[axis - 1]! <= most) {
    axis -= 1;
    inner *= shape[axis]!;
  }
  // A tensor of more than `most` elements has a dimension that does not fit, so the loop ended before the first.
  axis -= 1;
  const outer = shape.slice(0, axis);
  const rows = Math.floor(most / inner);
  const perOuter = Math.ceil(shape[axis]! / rows);
  return {
    count: outer.reduce((product, dimension) => product * dimension, perOuter),
    piece: (index) => {
      const indices: number[] = [];
      let rest = Math.floor(index / perOuter);
      for (const dimension of outer.toReversed()) {
        indices.unshift(rest % dimension);
        rest = Math.floor(rest / dimension);
      }
      const begin = (index % perOuter) * rows;
      return tensor.slice(...indices, [begin, begin + rows]);
    },
  };
}

/** Numbers of at most `most` pieces, evenly over all of them. */
export function evenly(count: number, most: number): number[] {
  if (count <= most) return Array.from({ length: count }, (_, index) => index);
  return Array.from({ length: most }, (_, index) => Math.floor(((index + 0.5) * count) / most));
}

// Owns the product of a weight matrix with vectors: rows are converted block by block, as they are used, and dropped.
// Refuses to keep a converted matrix: what stays in memory are the file's own pages, which the system can drop as well.

import type { TensorView } from 'safetensors-mmap';
import { myTurn } from './turns.js';

/**
 * Elements of a matrix converted at a time. Measured over 4 Ki to 1 Mi, on matrices of 192 and of 4096 columns: up to 8 Ki
 * takes as much as twice the time, and from here on all take the same. The least of these has the shortest turns.
 */
const BLOCK = 32 * 1024;

/** Vectors multiplied with a block at a time bound the work between two looks at the clock. */
export const MOST_VECTORS = 32;

/** Rows whose sums are made side by side. */
const ROWS_AT_ONCE = 4;

/** The rows of one block as float32; every product fills it anew, and no product waits while it is in use. */
let block = new Float32Array(BLOCK);

/**
 * Multiplies `count` vectors with the matrix [rows, columns]: output[v * rows + r] = sum over c of matrix[r, c] *
 * input[v * columns + c], plus bias[r]. Sums are float64. Gives up its turn between blocks.
 */
export async function multiply(
  matrix: TensorView,
  bias: Float32Array | undefined,
  input: Float32Array,
  count: number,
  output: Float32Array,
): Promise<void> {
  const [rows, columns] = matrix.shape as [number, number];
  const step = Math.max(ROWS_AT_ONCE, Math.floor(BLOCK / columns));
  if (block.length < step * columns) block = new Float32Array(step * columns);
  for (let begin = 0; begin < rows; begin += step) {
    await myTurn();
    const end = Math.min(rows, begin + step);
    const weights = matrix.slice([begin, end]).toFloat32Array(block);
    for (let v = 0; v < count; v++) {
      dotRows(weights, end - begin, input.subarray(v * columns, (v + 1) * columns), output, v * rows + begin);
    }
  }
  if (bias === undefined) return;
  for (let v = 0; v < count; v++) for (let r = 0; r < rows; r++) output[v * rows + r]! += bias[r]!;
}

/** Rows side by side: an element of the vector is loaded once for all of them. */
function dotRows(weights: Float32Array, rows: number, vector: Float32Array, output: Float32Array, at: number): void {
  const columns = vector.length;
  let r = 0;
  for (; r + ROWS_AT_ONCE <= rows; r += ROWS_AT_ONCE) {
    const first = r * columns;
    const second = first + columns;
    const third = second + columns;
    const fourth = third + columns;
    let a = 0;
    let b = 0;
    let c = 0;
    let d = 0;
    for (let i = 0; i < columns; i++) {
      const x = vector[i]!;
      a += weights[first + i]! * x;
      b += weights[second + i]! * x;
      c += weights[third + i]! * x;
      d += weights[fourth + i]! * x;
    }
    output[at + r] = a;
    output[at + r + 1] = b;
    output[at + r + 2] = c;
    output[at + r + 3] = d;
  }
  for (; r < rows; r++) {
    let sum = 0;
    for (let i = 0; i < columns; i++) sum += weights[r * columns + i]! * vector[i]!;
    output[at + r] = sum;
  }
}

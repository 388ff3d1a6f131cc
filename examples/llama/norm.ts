// Owns root-mean-square normalization. Refuses to know what it normalizes.

/**
 * Divides each of `count` vectors of `input` by its root mean square and multiplies it with the weights; `output` may be
 * `input`. The weights' length is a vector's.
 */
export function normalize(
  input: Float32Array,
  count: number,
  weights: Float32Array,
  epsilon: number,
  output: Float32Array,
): void {
  const { length } = weights;
  for (let v = 0; v < count; v++) {
    const begin = v * length;
    let squares = 0;
    for (let i = begin; i < begin + length; i++) squares += input[i]! * input[i]!;
    const scale = 1 / Math.sqrt(squares / length + epsilon);
    for (let i = 0; i < length; i++) output[begin + i] = input[begin + i]! * scale * weights[i]!;
  }
}

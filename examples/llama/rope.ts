// Owns the rotary embedding: a head's element pairs, (i, i + half), turned by an angle that grows with the position.
// Refuses other pairings: Hugging Face's files are arranged for this one.

import type { RopeConfig } from './config.js';

/** Angle per position of each pair, in radians; `size / 2` of them, in float32 as the reference has them. */
export function frequencies(size: number, rope: RopeConfig): Float32Array {
  return Float32Array.from({ length: size / 2 }, (_, i) =>
    stretched(Math.fround(rope.theta ** ((-2 * i) / size)), rope),
  );
}

/** Llama 3 leaves the fast frequencies, divides the slow ones, and blends in between. */
function stretched(frequency: number, { llama3 }: RopeConfig): number {
  if (llama3 === undefined) return frequency;
  const { factor, lowFactor, highFactor, originalPositions } = llama3;
  const turns = (originalPositions * frequency) / (2 * Math.PI); // within the context of the first training
  if (turns < lowFactor) return frequency / factor;
  if (turns > highFactor) return frequency;
  const blend = (turns - lowFactor) / (highFactor - lowFactor);
  return ((1 - blend) * frequency) / factor + blend * frequency;
}

/** Turns all heads of one position's vector in place. */
export function rotate(vector: Float32Array, angles: Float32Array, position: number): void {
  const half = angles.length;
  for (let i = 0; i < half; i++) {
    const angle = Math.fround(angles[i]! * position);
    const cosine = Math.cos(angle);
    const sine = Math.sin(angle);
    for (let head = 0; head < vector.length; head += 2 * half) {
      const x = vector[head + i]!;
      const y = vector[head + half + i]!;
      vector[head + i] = x * cosine - y * sine;
      vector[head + half + i] = y * cosine + x * sine;
    }
  }
}

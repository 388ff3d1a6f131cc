// Owns the rotary embedding: a head's element pairs, (i, i + half), turned by an angle that grows with the position.
// Refuses other pairings: Hugging Face's files are arranged for this one.

import type { RopeConfig } from './config.js';

/** The reference computes in float32, and an angle at position 10,000 is 10,000 times as wrong as its frequency. */
const float = Math.fround;

/** Angle per position of each pair, in radians; `size / 2` of them, rounded wherever the reference rounds. */
export function frequencies(size: number, rope: RopeConfig): Float32Array {
  return Float32Array.from({ length: size / 2 }, (_, i) =>
    stretched(float(1 / float(rope.theta ** float((2 * i) / size))), rope),
  );
}

/** Llama 3 leaves the fast frequencies, divides the slow ones, and blends in between. */
function stretched(frequency: number, { llama3 }: RopeConfig): number {
  if (llama3 === undefined) return frequency;
  const { factor, lowFactor, highFactor, originalPositions } = llama3;
  const wave = float(float(2 * Math.PI) / frequency); // positions for one turn
  if (wave > originalPositions / lowFactor) return float(frequency / factor);
  if (wave < originalPositions / highFactor) return frequency;
  const blend = float(float(float(originalPositions / wave) - lowFactor) / (highFactor - lowFactor));
  const slow = float(float(float(1 - blend) * frequency) / factor);
  return slow + float(blend * frequency);
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

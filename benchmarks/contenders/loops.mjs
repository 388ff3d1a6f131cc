// Owns float32 in JavaScript without the library: the best loops that we could write.
// Refuses the library's own code.
import { closeSync, openSync, readSync } from 'node:fs';

import { inRounds, now, planOf, sumWords } from './clock.mjs';

// Tables are faster than any arithmetic on the bits, and four elements a turn faster than one; a function for each
// dtype, because one that sees two classes of array is slower.

function f16(source, target, table) {
  for (let i = 0; i < source.length; i += 4) {
    target[i] = table[source[i]];
    target[i + 1] = table[source[i + 1]];
    target[i + 2] = table[source[i + 2]];
    target[i + 3] = table[source[i + 3]];
  }
}

function bf16(source, target) {
  for (let i = 0; i < source.length; i += 4) {
    target[i] = source[i] << 16;
    target[i + 1] = source[i + 1] << 16;
    target[i + 2] = source[i + 2] << 16;
    target[i + 3] = source[i + 3] << 16;
  }
}

function e4m3(source, target, table) {
  for (let i = 0; i < source.length; i += 4) {
    target[i] = table[source[i]];
    target[i + 1] = table[source[i + 1]];
    target[i + 2] = table[source[i + 2]];
    target[i + 3] = table[source[i + 3]];
  }
}

/** The bits of every value of a small float, as float32: sign, `exponent` bits with their bias, the rest. */
function tableOf(bits, exponent, bias) {
  const mantissa = bits - 1 - exponent;
  const floats = Float32Array.from({ length: 2 ** bits }, (_, value) => {
    const sign = value >> (bits - 1) === 1 ? -1 : 1;
    const power = (value >> mantissa) & (2 ** exponent - 1);
    const rest = (value & (2 ** mantissa - 1)) / 2 ** mantissa;
    return power === 0 ? sign * rest * 2 ** (1 - bias) : sign * (1 + rest) * 2 ** (power - bias);
  });
  return new Uint32Array(floats.buffer);
}

/** The bytes of a tensor in memory of its own. */
export function read({ path, begin, end }) {
  const descriptor = openSync(path);
  const bytes = new Uint8Array(end - begin);
  readSync(descriptor, bytes, 0, bytes.length, begin);
  closeSync(descriptor);
  return bytes;
}

const LOOPS = {
  BF16: () => bf16,
  F16: () => {
    const table = tableOf(16, 5, 15);
    return (source, target) => f16(source, target, table);
  },
  F8_E4M3: () => {
    const table = tableOf(8, 4, 7);
    return (source, target) => e4m3(source, target, table);
  },
};

/** A loop over a typed array. */
export async function convert({ dtype, fresh = false, path, begin, end, ...rest }) {
  const bytes = read({ path, begin, end });
  const source = dtype === 'F8_E4M3' ? bytes : new Uint16Array(bytes.buffer);
  const loop = LOOPS[dtype]();
  const reused = new Uint32Array(source.length).fill(1);
  const result = await inRounds(planOf(rest), () => {
    const start = now();
    const target = fresh ? new Uint32Array(source.length) : reused;
    loop(source, target);
    const ns = now() - start;
    // Walking through it takes longer than filling it: once, where all rounds fill the same.
    return { checksum: fresh ? sumWords(target, 64) : 0, ns };
  });
  return fresh ? result : { ...result, checksum: sumWords(reused, 64) };
}

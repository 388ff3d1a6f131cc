// Owns names that have one hash, as somebody would make them to slow a reader down.
// Refuses any hash but the one that names are indexed by.

import { HASH_PRIME, HASH_SEED } from '../../src/names.js';

const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._';

function step(hash: number, text: string): number {
  let next = hash;
  for (let i = 0; i < text.length; i++) next = Math.imul(next ^ text.charCodeAt(i), HASH_PRIME);
  return next;
}

/** Two texts of five letters that take one hash to the same next one. Of some 80,000 texts two meet by chance. */
function collidingPair(from: number): { pair: readonly [string, string]; hash: number } {
  const seen = new Map<number, string>();
  for (let k = 0; ; k++) {
    // A walk over all texts in an order that does not keep the first letters the same.
    let rest = Math.imul(k, 0x9e3779b1) >>> 2;
    let text = '';
    for (let i = 0; i < 5; i++) {
      text += LETTERS[rest & 63];
      rest >>>= 6;
    }
    const hash = step(from, text);
    const other = seen.get(hash);
    if (other !== undefined && other !== text) return { pair: [other, text], hash };
    seen.set(hash, text);
  }
}

/** 2^bits names of 5 × bits letters, all with one hash: at each of `bits` places either text of a pair will do. */
export function collidingNames(bits: number): string[] {
  let names = [''];
  let hash = HASH_SEED;
  for (let bit = 0; bit < bits; bit++) {
    const found = collidingPair(hash);
    hash = found.hash;
    names = names.flatMap((name) => found.pair.map((text) => name + text));
  }
  return names;
}

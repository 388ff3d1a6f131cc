// Owns the choice of the next token: the likeliest, or one drawn at random. Refuses randomness that cannot be repeated.

/** How to choose. */
export interface Sampling {
  /** 0 takes the likeliest token; 1 draws by the model's own probabilities, less is safer, more is bolder. */
  readonly temperature: number;
  /** Draws among this many of the likeliest tokens. */
  readonly topK: number;
  /** Numbers from 0 to below 1. */
  readonly random: () => number;
}

/** The token to follow. */
export function choose(logits: Float32Array, { temperature, topK, random }: Sampling): number {
  const best = likeliest(logits);
  if (temperature === 0 || topK === 1) return best;
  const floor = topK < logits.length ? logits.toSorted().at(-topK)! : Number.NEGATIVE_INFINITY;
  // The likeliest has the weight 1, so that nothing overflows. A loop: Float64Array.from takes ten times as long.
  const weights = new Float64Array(logits.length);
  let sum = 0;
  for (let token = 0; token < weights.length; token++) {
    if (logits[token]! < floor) continue;
    weights[token] = Math.exp((logits[token]! - logits[best]!) / temperature);
    sum += weights[token]!;
  }
  let rest = random() * sum;
  for (let token = 0; token < weights.length; token++) {
    rest -= weights[token]!;
    if (rest < 0) return token;
  }
  return best; // rounding left something over, or a logit is not a number
}

/** The first of the highest. */
function likeliest(logits: Float32Array): number {
  let best = 0;
  for (let token = 1; token < logits.length; token++) if (logits[token]! > logits[best]!) best = token;
  return best;
}

/** A generator of numbers from 0 to below 1: a counter whose bits are mixed (splitmix's steps, in 32 bits). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
}

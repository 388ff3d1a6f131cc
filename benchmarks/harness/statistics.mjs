// Owns the arithmetic of results: medians, quartiles, ratios of pairs, the seeded order. Pure.
// Refuses means, and ratios of fastest rounds: both let one lucky sample speak for all.

/**
 * @typedef {object} Summary
 * @property {number} median
 * @property {number} min
 * @property {number} q1 the first quartile
 * @property {number} q3 the third; q3 - q1 is the interquartile range
 */

/**
 * The value below which a part of the others lies, interpolated between neighbours.
 * @param {readonly number[]} values at least one
 * @param {number} part 0 to 1
 * @returns {number}
 */
export function quantile(values, part) {
  if (values.length === 0) throw new RangeError('a quantile of no values');
  const sorted = values.toSorted((a, b) => a - b);
  const at = part * (sorted.length - 1);
  const below = /** @type {number} */ (sorted[Math.floor(at)]);
  const above = /** @type {number} */ (sorted[Math.ceil(at)]);
  return below + (above - below) * (at - Math.floor(at));
}

/**
 * @param {readonly number[]} values at least one
 * @returns {number}
 */
export function median(values) {
  return quantile(values, 0.5);
}

/**
 * @param {readonly number[]} values at least one
 * @returns {Summary}
 */
export function summarize(values) {
  return {
    median: median(values),
    min: Math.min(...values),
    q1: quantile(values, 0.25),
    q3: quantile(values, 0.75),
  };
}

/**
 * Ratios of what was measured in the same round: a slow moment of the machine meets both sides.
 * @param {readonly number[]} ones by round
 * @param {readonly number[]} others by round
 * @returns {Summary & { pairs: number }}
 */
export function ratioOfPairs(ones, others) {
  const pairs = Math.min(ones.length, others.length);
  const ratios = Array.from({ length: pairs }, (_, round) => {
    return /** @type {number} */ (ones[round]) / /** @type {number} */ (others[round]);
  });
  return { ...summarize(ratios), pairs };
}

/**
 * Numbers from 0 to 1, the same for the same seed.
 * @param {number} seed
 * @returns {() => number}
 */
export function randomFrom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
}

/**
 * The same items in another order, each order as likely as any.
 * @template T
 * @param {readonly T[]} items
 * @param {() => number} random
 * @returns {T[]}
 */
export function shuffled(items, random) {
  const order = [...items];
  for (let i = order.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    const kept = /** @type {T} */ (order[i]);
    order[i] = /** @type {T} */ (order[j]);
    order[j] = kept;
  }
  return order;
}

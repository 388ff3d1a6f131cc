// Owns how numbers are written: times, rates, ratios, and the verdict on a goal. Pure.
// Refuses more digits than were measured.

/** @typedef {import('../harness/run-case.mjs').RaceResult} RaceResult */
/** @typedef {RaceResult['contenders'][number]} ContenderResult */
/** @typedef {RaceResult['goals'][number]} GoalResult */

/**
 * Three significant digits, without an exponent.
 * @param {number} value
 */
export function short(value) {
  if (value === 0) return '0';
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return digits === 0 ? Math.round(value).toLocaleString('en') : value.toFixed(Math.min(digits, 3));
}

/**
 * @param {number} value
 * @param {RaceResult['unit']} unit
 */
export function quantity(value, unit) {
  if (unit === 'ns') {
    if (value < 1e3) return `${short(value)} ns`;
    if (value < 1e6) return `${short(value / 1e3)} µs`;
    return value < 1e9 ? `${short(value / 1e6)} ms` : `${short(value / 1e9)} s`;
  }
  if (unit === 'bytes') return `${short(value / 1e6)} MB`;
  return unit === 'ms' ? `${short(value)} ms` : short(value);
}

/**
 * Gigabytes a second, where a race goes through bytes and its value is a time.
 * @param {RaceResult} race
 * @param {ContenderResult} contender
 */
export function rate({ unit, bytes }, { median }) {
  return unit === 'ns' && bytes !== undefined && median !== undefined ? `${short(bytes / median)} GB/s` : '';
}

/** @param {GoalResult} goal */
export function verdict({ met }) {
  if (met === null) return 'not measured';
  return met ? 'met' : '**not met**';
}

/** @param {GoalResult} goal */
export function limitOf({ atMost, atLeast }) {
  const number = atMost ?? atLeast ?? 0;
  return `${atMost === undefined ? '≥' : '≤'} ${number >= 1000 ? number.toLocaleString('en') : number}`;
}

/**
 * A ratio or value with its quartiles.
 * @param {GoalResult} goal
 */
export function found(goal) {
  if (!('median' in goal)) return goal.why;
  return `${short(goal.median)} (${short(goal.q1)} to ${short(goal.q3)})`;
}

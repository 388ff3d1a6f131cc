// Owns whether two runs say the same: the ratios that both found, and how far they lie apart. Pure.
// Refuses times: those of two runs have nothing to say to one another.

/** @typedef {import('../harness/run-case.mjs').RaceResult['goals'][number]} GoalResult */

/**
 * Every goal that both results measured.
 * @param {import('./tables.mjs').Result} one
 * @param {import('./tables.mjs').Result} other
 * @returns {{ text: string, one: number, other: number, apart: number, overlap: boolean }[]} `apart`: the larger
 *   divided by the smaller, less 1; `overlap`: whether the ranges between the quartiles meet
 */
export function agreement(one, other) {
  const theirs = new Map(goalsOf(other).map((goal) => [goal.text, goal]));
  return goalsOf(one).flatMap((goal) => {
    const twin = theirs.get(goal.text);
    if (twin === undefined || !('median' in goal) || !('median' in twin)) return [];
    const [low, high] = [goal.median, twin.median].toSorted((a, b) => a - b);
    const apart = low === high ? 0 : Number(high) / Number(low) - 1;
    const overlap = goal.q1 <= twin.q3 && twin.q1 <= goal.q3;
    return [{ text: goal.text, one: goal.median, other: twin.median, apart, overlap }];
  });
}

/**
 * @param {import('./tables.mjs').Result} result
 * @returns {GoalResult[]}
 */
function goalsOf({ cases }) {
  return cases.flatMap(({ races }) => races.flatMap(({ goals }) => goals));
}

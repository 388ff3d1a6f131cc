// Owns what `npm run bench` prints while it runs.
// Refuses colours and cursor movements: the output is read in logs.
import { found, limitOf, quantity, rate, verdict } from './words.mjs';

/** @param {import('./words.mjs').RaceResult} race */
export function showRace(race) {
  const lines = [
    `\n  ${race.title} (${race.rounds} rounds${race.state === undefined ? '' : `, ${JSON.stringify(race.state)}`})`,
  ];
  for (const contender of race.contenders) {
    const name = contender.name.padEnd(36);
    if (contender.median === undefined) {
      lines.push(`    ${name} ${contender.status}: ${contender.reason}`);
      continue;
    }
    const [median, q1, q3] = [contender.median, contender.q1, contender.q3].map((value) =>
      quantity(value ?? 0, race.unit),
    );
    lines.push(`    ${name} ${median?.padStart(10)}  [${q1} to ${q3}]  ${rate(race, contender)}`.trimEnd());
  }
  for (const goal of race.goals) {
    lines.push(
      `    ${verdict(goal).replaceAll('*', '').toUpperCase()}: ${goal.text}: ${found(goal)}, goal ${limitOf(goal)}`,
    );
  }
  console.log(lines.join('\n'));
}

// Owns `node benchmarks/compare.mjs ONE.json OTHER.json`: which ratios of two runs lie more than a tenth apart.
// Refuses to explain: beside each stands whether the spread of the runs does.
import { readFileSync } from 'node:fs';

import { agreement } from './report/agreement.mjs';
import { short } from './report/words.mjs';

const MOST_APART = 0.1;

const [one, other] = process.argv.slice(2).map((path) => JSON.parse(readFileSync(path, 'utf8')));
if (other === undefined) {
  console.error('usage: node benchmarks/compare.mjs ONE.json OTHER.json');
  process.exit(2);
}
const rows = agreement(one, other);
for (const { text, one: first, other: second, apart, overlap } of rows) {
  const why = overlap ? 'the quartiles overlap' : 'THE QUARTILES DO NOT OVERLAP';
  const verdict = apart <= MOST_APART ? 'agree' : `${Math.round(apart * 100)} % apart, ${why}`;
  console.log(`${short(first).padStart(9)} ${short(second).padStart(9)}  ${text}: ${verdict}`);
}
const apart = rows.filter((row) => row.apart > MOST_APART);
console.log(`${rows.length - apart.length} of ${rows.length} agree within 10 %`);
process.exitCode = apart.some(({ overlap }) => !overlap) ? 1 : 0;

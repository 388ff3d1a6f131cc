// Owns `npm run bench [name …]`: runs the benchmarks one after the other, each in a process of its own.
// Refuses to measure or to judge; each benchmarks/<name>/run.mjs does.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** @param {string} name */
const script = (name) => fileURLToPath(new URL(`${name}/run.mjs`, import.meta.url));

const known = readdirSync(new URL('.', import.meta.url)).filter((name) => existsSync(script(name)));
const chosen = process.argv.slice(2);
const unknown = chosen.filter((name) => !known.includes(name));
if (unknown.length > 0) {
  console.error(
    `no benchmark ${unknown.map((name) => JSON.stringify(name)).join(', ')}; there are: ${known.join(', ')}`,
  );
  process.exit(2);
}

for (const name of chosen.length > 0 ? chosen : known) {
  console.log(`\n# ${name}`);
  const { status } = spawnSync(process.execPath, [script(name)], { stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}

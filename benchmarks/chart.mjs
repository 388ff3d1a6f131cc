// Owns `node benchmarks/chart.mjs [FILE]`: the two charts alone, of a file of results or of the newest full run.
// Refuses to touch the pages: publish.mjs does both, and a test wants both to show the same run.
import { writeFileSync } from 'node:fs';

import { at, chartsOf, chosen } from './publish.mjs';

for (const [name, svg] of Object.entries(chartsOf(chosen(process.argv[2])))) writeFileSync(at(name), svg);

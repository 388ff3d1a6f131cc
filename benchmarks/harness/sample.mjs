// Owns one sample of a contender in JavaScript: a process that runs one job once and prints what it found.
// Refuses to know the jobs: `node sample.mjs MODULE JOB ARGUMENTS`, the arguments as JSON.
const [, , module = '', job = '', args = '{}'] = process.argv;

const jobs = await import(new URL(`../contenders/${module}.mjs`, import.meta.url).href);
const result = await jobs[job](JSON.parse(args));
// A checksum is 32 bits; JavaScript's may have come out negative.
if (typeof result.checksum === 'number') result.checksum >>>= 0;
process.stdout.write(`${JSON.stringify(result)}\n`);

// Owns the answer to a name that is not there: the error, and the names that were probably meant.
// Refuses to look further than the first 100,000 names.

import { quote, SafeTensorsError } from './errors.js';

const MOST_NAMES = 100_000;
const SUGGESTIONS = 3;

/** TENSOR_NOT_FOUND for a name, with the closest of the `size` names that there are. */
export function notFound(
  name: unknown,
  names: Iterable<string>,
  size: number,
  path: string | undefined,
): SafeTensorsError {
  if (typeof name !== 'string') {
    return new SafeTensorsError('INVALID_ARGUMENT', `a tensor's name is a string, not ${typeof name}`, { path });
  }
  const closest = closestNames(name, names);
  const hint = closest.length === 0 ? '' : `; the closest: ${closest.map(quote).join(', ')}`;
  return new SafeTensorsError('TENSOR_NOT_FOUND', `no tensor ${quote(name)} among ${size}${hint}`, {
    path,
    tensor: name,
  });
}

/**
 * Names that share the longest beginning and end with the wanted one (a slip in the middle), and those that differ by a
 * prefix of whole parts. Case counts for nothing.
 */
function closestNames(wanted: string, names: Iterable<string>): string[] {
  const best: { name: string; score: number }[] = [];
  const lower = wanted.toLowerCase();
  let seen = 0;
  for (const name of names) {
    if (++seen > MOST_NAMES) break;
    const score = likeness(lower, name.toLowerCase());
    const last = best[SUGGESTIONS - 1];
    if (score * 2 < wanted.length || (last !== undefined && score <= last.score)) continue;
    best.push({ name, score });
    best.sort((a, b) => b.score - a.score);
    best.length = Math.min(best.length, SUGGESTIONS);
  }
  return best.map((candidate) => candidate.name);
}

/** Length of the common beginning and end, less what the longer name has more, unless that is a prefix of whole parts. */
function likeness(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length);
  if (a.endsWith(`.${b}`) || b.endsWith(`.${a}`)) return a.length;
  let start = 0;
  while (start < shorter && a.charCodeAt(start) === b.charCodeAt(start)) start++;
  let end = 0;
  while (end < shorter - start && a.charCodeAt(a.length - 1 - end) === b.charCodeAt(b.length - 1 - end)) end++;
  return start + end - Math.abs(a.length - b.length) / 2;
}

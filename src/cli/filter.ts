// Owns what `--filter` means: globs over tensor names.
// Refuses paths: a tensor name has no directories, so `*` crosses a `/` and a leading dot is nothing special.

import picomatch from 'picomatch';

/** Most members that `{1..n}` expands to. */
const MAX_RANGE = 10_000;

/**
 * A test for names: any of the globs must match, and none of those that begin with `!`.
 * No globs, or only excluding ones, match everything else. Throws an Error that quotes nothing on a glob that is not one.
 */
export function nameFilter(globs: readonly string[]): (name: string) => boolean {
  const excludes = (glob: string) => glob.startsWith('!') && !glob.startsWith('!(');
  const included = globs.filter((glob) => !excludes(glob)).map(compile);
  const excluded = globs.filter(excludes).map((glob) => compile(glob.slice(1)));
  return (name) =>
    (included.length === 0 || included.some((pattern) => pattern.test(name))) &&
    !excluded.some((pattern) => pattern.test(name));
}

function compile(glob: string): RegExp {
  if (glob === '') throw new Error('the pattern is empty');
  // `*` is spelled out because picomatch wants at least one character, and "" is a legal name.
  if (/^\*+$/.test(glob)) return /^/;
  return picomatch.makeRe(glob, {
    bash: true,
    dot: true,
    windows: false,
    // A newline in a name is a character like any other.
    flags: 's',
    // Without it an impossible pattern quietly matches nothing.
    debug: true,
    expandRange,
  });
}

/** `{1..12}` as an alternation; picomatch alone would make it the character class [1-12]. */
function expandRange(from: string, to: string): string {
  if (!/^[0-9]{1,15}$/.test(from) || !/^[0-9]{1,15}$/.test(to)) return `[${from}-${to}]`;
  const [low, high] = Number(from) <= Number(to) ? [Number(from), Number(to)] : [Number(to), Number(from)];
  if (high - low >= MAX_RANGE) throw new Error(`the range ${from}..${to} has more than ${MAX_RANGE} members`);
  // As in a shell: a leading zero asks for members of that width.
  const width = from.startsWith('0') ? from.length : 0;
  return `(?:${Array.from({ length: high - low + 1 }, (_, i) => String(low + i).padStart(width, '0')).join('|')})`;
}

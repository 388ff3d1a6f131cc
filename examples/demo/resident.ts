// Owns what the kernel says of mapped files: how much of them is in this process's memory.
// Refuses to guess: where the kernel cannot be asked it has no answer.

import { readFileSync, realpathSync } from 'node:fs';

/**
 * Bytes of the files that this process has in memory, of those that it has mapped. A page counts once it was touched, or
 * lay beside one. Undefined where there is no /proc/self/smaps.
 */
export function residentBytes(paths: readonly string[]): number | undefined {
  // The kernel writes the path that links lead to, a line end in it as \012.
  const names = new Set(paths.map((path) => realpathSync(path).replaceAll('\n', '\\012')));
  const text = mappings();
  if (text === undefined) return undefined;
  let isOne = false;
  let bytes = 0;
  for (const line of text.split('\n')) {
    const path = /^[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \d+ *(.*)$/.exec(line)?.[1];
    if (path !== undefined) isOne = names.has(path);
    else if (isOne && line.startsWith('Rss:')) bytes += Number(/\d+/.exec(line)?.[0]) * 1024;
  }
  return bytes;
}

function mappings(): string | undefined {
  try {
    return readFileSync('/proc/self/smaps', 'utf8');
  } catch {
    return undefined;
  }
}

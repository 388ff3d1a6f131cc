// Owns what the kernel says of a mapped file: its line in /proc/self/maps and how much of it is in memory.
// Refuses to guess: where the kernel cannot be asked it says so.

import { readFileSync, realpathSync } from 'node:fs';

/**
 * Says which pages the file is mapped to. Returns a function that says how many of them are in memory.
 * @param {string} backend of the open file
 * @param {string} path of the file
 * @param {(line: string) => void} say
 * @returns {(when: string) => void}
 */
export function watchMapping(backend, path, say) {
  const silent = () => {};
  if (backend !== 'mmap') {
    say(`This file is not mapped but read piece by piece (backend '${backend}').`);
    return silent;
  }
  if (process.platform !== 'linux') {
    say('The file is mapped. Only on Linux can this demo prove it.');
    return silent;
  }
  // The kernel writes the path that links lead to, a line end in it as \012.
  const name = realpathSync(path).replaceAll('\n', '\\012');
  const line = textOf('maps')
    .split('\n')
    .find((candidate) => candidate.endsWith(` ${name}`));
  if (line === undefined) {
    say('The file is mapped, but /proc/self/maps does not show it here.');
    return silent;
  }
  const pages = line.slice(0, -name.length).trimEnd();
  say(`/proc/self/maps: ${pages}`);
  say(`                 ${name}`);
  return (when) => {
    const found = residentOf(pages);
    if (found !== undefined) say(`in memory ${when}`.padEnd(52) + found);
  };
}

/**
 * @param {string} pages the part of a line before the path
 * @returns {string | undefined}
 */
function residentOf(pages) {
  const text = textOf('smaps');
  const begin = text.indexOf(pages);
  if (begin < 0) return undefined;
  const fields = text.slice(begin);
  const resident = /^Rss: +(\d+) kB$/m.exec(fields)?.[1];
  const size = /^Size: +(\d+) kB$/m.exec(fields)?.[1];
  return `${resident} of ${size} KiB`;
}

/** @param {string} name */
function textOf(name) {
  try {
    return readFileSync(`/proc/self/${name}`, 'utf8');
  } catch {
    return '';
  }
}

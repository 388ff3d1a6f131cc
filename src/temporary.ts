// Owns the names of files that are not yet what they shall be, and the removal of those whose makers are dead.
// Refuses to remove a file whose name or age leaves any doubt.

import { Buffer } from 'node:buffer';
import { createHash, randomBytes } from 'node:crypto';
import { lstat, readdir, rm } from 'node:fs/promises';
import { hostname } from 'node:os';

/** File names end at 255 bytes nearly everywhere; what is added to a name takes up to 60. */
const LONGEST_NAME = 180;

/** A file that nothing was written to for so long belongs to nobody, wherever its maker ran. In milliseconds. */
const ABANDONED_AFTER = 24 * 60 * 60 * 1000;

/** Process numbers mean something on their own machine only, and a directory may be shared by several. */
const HOST = createHash('sha256').update(hostname()).digest('hex').slice(0, 8);

const TEMPORARY = /^\.(.+)\.safetensors-tmp-([0-9a-f]{8}-\d+-[0-9a-f]{12})$/s;

/** What tells whose a file is, and from all others: machine, process, random. */
export function ownerTag(): string {
  return `${HOST}-${process.pid}-${randomBytes(6).toString('hex')}`;
}

/** Name of the file that is to become `name`, in the same directory. */
export function temporaryName(name: string): string {
  return `.${shortened(name)}.safetensors-tmp-${ownerTag()}`;
}

/**
 * Removes the temporary files of dead processes that were to become a file for whose name `isOurs` holds. A failure to look
 * or to remove is no reason not to save.
 */
export async function removeLeftovers(directory: string, isOurs: (name: string) => boolean): Promise<void> {
  await removeAbandoned(directory, (file) => {
    const found = TEMPORARY.exec(file);
    return found !== null && isOurs(found[1]!) ? found[2] : undefined;
  });
}

/** Whether the temporary files of `name` carry `found`. */
export function isTemporaryOf(name: string, found: string): boolean {
  return found === shortened(name);
}

/** Removes files whose makers are dead. `tagOf` gives the owner's tag of those that may be removed at all. */
export async function removeAbandoned(directory: string, tagOf: (file: string) => string | undefined): Promise<void> {
  const files = await readdir(directory).catch(() => []);
  for (const file of files) {
    const tag = tagOf(file);
    if (tag === undefined) continue;
    try {
      if (await isAbandoned(`${directory}/${file}`, tag)) await rm(`${directory}/${file}`, { force: true });
    } catch {
      // Another save was faster, or the next one tries again.
    }
  }
}

async function isAbandoned(path: string, tag: string): Promise<boolean> {
  const [host, pid] = tag.split('-');
  const status = await lstat(path);
  if (!status.isFile()) return false;
  if (Date.now() - status.mtimeMs > ABANDONED_AFTER) return true;
  if (host !== HOST) return false;
  // In a container the number is the same after each start: what is older than this process is not its own.
  if (Number(pid) === process.pid) return status.mtimeMs < Date.now() - process.uptime() * 1000 - 2000;
  return !isAlive(Number(pid));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

function shortened(name: string): string {
  if (Buffer.byteLength(name) <= LONGEST_NAME) return name;
  return `${name.slice(0, 40).toWellFormed()}~${createHash('sha256').update(name).digest('hex').slice(0, 16)}`;
}

// Owns the replacement of a file as one step: written beside it, flushed, renamed over it. And writing in place, where
// that is asked for. Refuses targets that are no regular files; leaves nothing behind when it fails.

import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, lstat, open, readlink, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, resolve, sep } from 'node:path';

import { quote, SafeTensorsError } from './errors.js';
import { isTemporaryOf, removeLeftovers, temporaryName } from './temporary.js';

/** As many links as Linux follows. */
const MOST_LINKS = 40;

/** What a system says that cannot rename over a file, or not over this one: a file mounted by itself gives EBUSY. */
const NO_RENAME: readonly string[] = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EXDEV', 'EBUSY', 'ENOSYS'];

/** What a directory that cannot be flushed says: not every system has the notion. */
const NO_DIRECTORY_SYNC: readonly string[] = ['EINVAL', 'ENOTSUP', 'EPERM', 'EACCES', 'EISDIR', 'ENOSYS'];

/** Where a file is to stand. */
export interface Target {
  readonly path: string;
  /** Of the file that is replaced; undefined where there is none. */
  readonly mode: number | undefined;
}

/** Writes a whole file through a descriptor. */
export type Writing = (descriptor: number) => Promise<void>;

/** Follows links, dangling ones too, to where a file stands or shall stand. Throws NOT_A_REGULAR_FILE. */
export async function followLinks(path: string): Promise<Target> {
  if (/[/\\]$/.test(path) && (sep === '\\' || path.endsWith('/'))) {
    throw new SafeTensorsError('NOT_A_REGULAR_FILE', `${quote(path)} ends with a separator: it names a directory`, {
      path,
    });
  }
  let current = absolutePath(process.cwd(), path);
  for (let links = 0; links <= MOST_LINKS; links++) {
    const target = await targetAt(current);
    if (target !== undefined) return target;
    current = absolutePath(await realpath(dirname(current)), await readlink(current));
  }
  await stat(path); // says ELOOP
  throw new SafeTensorsError('NOT_A_REGULAR_FILE', `${quote(path)} is a link to a link to a link …`, { path });
}

/**
 * A path that does not depend on the working directory, which may change during a save. Its `..` stay, since they lead
 * elsewhere behind a link than the text looks; Windows itself goes by the text.
 */
export function absolutePath(directory: string, path: string): string {
  if (path === '' || sep === '\\') return resolve(directory, path);
  return isAbsolute(path) ? path : `${directory}/${path}`;
}

/** The target at a path, or undefined for a link. Throws NOT_A_REGULAR_FILE. */
export async function targetAt(path: string): Promise<Target | undefined> {
  const status = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (status === undefined) return { path, mode: undefined };
  if (status.isSymbolicLink()) return undefined;
  if (status.isFile()) return { path, mode: status.mode & 0o777 };
  throw notRegular(path, status.isDirectory());
}

/** A file that is complete but has not its name yet. */
export interface Draft {
  /** Gives it a name, in place of whatever has it. */
  publish(path: string): Promise<void>;
  /** Removes it, unless it was published. */
  discard(): Promise<void>;
}

/** Writes a file beside its target, flushed to the disk. A failure leaves nothing behind. */
export async function writeDraft(target: Target, writing: Writing): Promise<Draft> {
  const path = `${dirname(target.path)}/${temporaryName(basename(target.path))}`;
  const file = await createBeside(target, path);
  try {
    try {
      // What umask has taken from the mode.
      if (target.mode !== undefined) await file.chmod(target.mode).catch(() => {}); // not every file system has modes
      await writing(file.fd);
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    await removeQuietly(path);
    throw located(error, target.path, '; what was there before is as it was');
  }
  let published = false;
  return {
    publish: async (name) => {
      await rename(path, name).catch((error: NodeJS.ErrnoException) => {
        const refused = NO_RENAME.includes(error.code ?? '');
        throw located(error, name, refused ? '; save() with { atomic: false } writes in place, without renaming' : '');
      });
      published = true;
    },
    discard: async () => {
      if (!published) await removeQuietly(path);
    },
  };
}

/**
 * Replaces a file in one step: whoever opens it sees the old one or the new one, whole. `commit` runs right before that
 * step and stops it by throwing.
 */
export async function replaceFile(target: Target, writing: Writing, commit: () => void = () => {}): Promise<void> {
  const [directory, name] = [dirname(target.path), basename(target.path)];
  await removeLeftovers(directory, (found) => isTemporaryOf(name, found));
  const draft = await writeDraft(target, writing);
  try {
    commit();
    await draft.publish(target.path);
  } finally {
    await draft.discard();
  }
  await syncDirectory(directory).catch((error: unknown) => {
    throw located(
      error,
      directory,
      `; ${quote(name)} is the new file, but may be the old one again after a loss of power`,
    );
  });
}

/**
 * Writes over a file where it stands. `check` sees what is to be overwritten before it is, and refuses by throwing. A
 * failure after that leaves the file empty, so that it cannot be taken for whole; one that was not there is removed.
 */
export async function overwriteFile(
  target: Target,
  writing: Writing,
  check: (status: BigIntStats) => void,
): Promise<void> {
  // Not truncated by opening: what stands there may have changed since it was looked at. A pipe would wait for a reader.
  const file = await open(target.path, constants.O_WRONLY | constants.O_CREAT | (constants.O_NONBLOCK ?? 0), 0o666);
  let isOurs = false;
  try {
    const status = await file.stat({ bigint: true });
    if (!status.isFile()) throw notRegular(target.path, status.isDirectory());
    check(status);
    isOurs = true;
    await file.truncate(0);
    await writing(file.fd);
    await file.sync();
  } catch (error) {
    if (!isOurs) throw error;
    await file.truncate(0).catch(() => {});
    if (target.mode === undefined) await removeQuietly(target.path);
    const now = target.mode === undefined ? 'no file was made' : 'it was written in place and is empty now';
    throw located(error, target.path, `; ${now}`);
  } finally {
    await file.close();
  }
}

/** Makes renames last over a loss of power. */
export async function syncDirectory(path: string): Promise<void> {
  let directory: FileHandle | undefined;
  try {
    directory = await open(path, constants.O_RDONLY);
    await directory.sync();
  } catch (error) {
    if (!NO_DIRECTORY_SYNC.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  } finally {
    await directory?.close();
  }
}

async function createBeside(target: Target, path: string): Promise<FileHandle> {
  try {
    // Never with more rights than the file before: whoever may not read that one could open this one meanwhile.
    return await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, target.mode ?? 0o666);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const refused = (code === 'EACCES' || code === 'EPERM') && target.mode !== undefined;
    const hint = refused ? '; save() with { atomic: false } needs no new file in its directory' : '';
    throw located(error, target.path, hint);
  }
}

function notRegular(path: string, isDirectory: boolean): SafeTensorsError {
  const what = isDirectory ? 'a directory' : 'a device, pipe or socket';
  return new SafeTensorsError('NOT_A_REGULAR_FILE', `${quote(path)} is ${what}, which is not written over`, { path });
}

/** Removes a file of this save's; what stopped the save is the error that counts, and the next save tries again. */
export async function removeQuietly(path: string): Promise<void> {
  await rm(path, { force: true }).catch(() => {});
}

/** The system's error, in its own shape, with the path that the caller knows. Others pass as they are. */
function located(error: unknown, path: string, hint: string): unknown {
  const { code, errno, syscall } = error as NodeJS.ErrnoException;
  if (!(error instanceof Error) || syscall === undefined) return error;
  const reason = error.message.replace(/, \w+( '.*)?$/s, '');
  const message = `${reason}, ${syscall} ${quote(path)}${hint}`;
  return Object.assign(new Error(message, { cause: error }), { errno, code, syscall, path });
}

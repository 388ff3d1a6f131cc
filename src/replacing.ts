// Owns the replacement of a file as one step: written beside it, flushed, renamed over it. And writing in place, where
// that is asked for. Refuses targets that are no regular files; leaves nothing behind when it fails.

import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readlink, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';

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
  let current = resolve(path);
  for (let links = 0; links <= MOST_LINKS; links++) {
    const target = await targetAt(current);
    if (target !== undefined) return target;
    current = resolve(await realpath(dirname(current)), await readlink(current));
  }
  await stat(path); // says ELOOP
  throw new SafeTensorsError('NOT_A_REGULAR_FILE', `${quote(path)} is a link to a link to a link …`, { path });
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
  const what = status.isDirectory() ? 'a directory' : 'a device, pipe or socket';
  throw new SafeTensorsError('NOT_A_REGULAR_FILE', `${quote(path)} is ${what}, which is not written over`, { path });
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
  const path = join(dirname(target.path), temporaryName(basename(target.path)));
  const file = await createBeside(target, path);
  try {
    try {
      if (target.mode !== undefined) await file.chmod(target.mode).catch(() => {}); // not every file system has modes
      await writing(file.fd);
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    await rm(path, { force: true });
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
      if (!published) await rm(path, { force: true });
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
  await syncDirectory(directory);
}

/** Writes over a file where it stands. A failure leaves it empty, so that it cannot be taken for whole. */
export async function overwriteFile(target: Target, writing: Writing): Promise<void> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC;
  const file = await open(target.path, flags, 0o666);
  try {
    await writing(file.fd);
    await file.sync();
  } catch (error) {
    await file.truncate(0).catch(() => {});
    throw located(error, target.path, '; it was written in place and is empty now');
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
    return await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o666);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const refused = (code === 'EACCES' || code === 'EPERM') && target.mode !== undefined;
    const hint = refused ? '; save() with { atomic: false } needs no new file in its directory' : '';
    throw located(error, target.path, hint);
  }
}

/** The system's error, in its own shape, with the path that the caller knows. Others pass as they are. */
function located(error: unknown, path: string, hint: string): unknown {
  const { code, errno, syscall } = error as NodeJS.ErrnoException;
  if (!(error instanceof Error) || syscall === undefined) return error;
  const reason = error.message.replace(/, \w+( '.*)?$/s, '');
  const message = `${reason}, ${syscall} ${quote(path)}${hint}`;
  return Object.assign(new Error(message, { cause: error }), { errno, code, syscall, path });
}

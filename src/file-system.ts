// Owns the names of file systems by the numbers that Linux gives them, and which of them a page fault asks somebody else.
// Refuses to guess: a number that is not in the tables is the name.

import { statfs, statfsSync } from 'node:fs';
import { promisify } from 'node:util';

/** The file system that a file lies on. */
export interface FileSystem {
  /** `ext4` (also ext2 and ext3), `xfs`, `tmpfs`, `nfs` …; the number as `0x…` where it has no name here, else `unknown`. */
  readonly name: string;
  /** Whether its pages come over a network or from another process (FUSE): mapped, such files are slow to read. */
  readonly isNetwork: boolean;
}

/** statfs(2), and linux/magic.h. */
const LOCAL: Readonly<Record<number, string>> = {
  61267: 'ext4',
  1481003842: 'xfs',
  2435016766: 'btrfs',
  801189825: 'zfs',
  4076150800: 'f2fs',
  3393526350: 'bcachefs',
  16914836: 'tmpfs',
  2240043254: 'ramfs',
  2508478710: 'hugetlbfs',
  2035054128: 'overlay',
  61791: 'ecryptfs',
  1936814952: 'squashfs',
  3774210530: 'erofs',
  19780: 'vfat',
  538032816: 'exfat',
  1936094318: 'ntfs',
  1397118030: 'ntfs',
  38496: 'iso9660',
  352400198: 'udf',
  827541066: 'jfs',
  1382369651: 'reiserfs',
  18475: 'hfsplus',
};

const NETWORK: Readonly<Record<number, string>> = {
  26985: 'nfs',
  20859: 'smb',
  4266872130: 'smb',
  4283649346: 'cifs',
  1702057286: 'fuse',
  16914839: '9p',
  12805120: 'ceph',
  198183888: 'lustre',
  1196443219: 'gpfs',
  428016422: 'beegfs',
  2866260714: 'panfs',
  537068840: 'orangefs',
  1397113167: 'afs',
  1799439955: 'afs',
  1937076805: 'coda',
  22092: 'ncp',
  18225520: 'gfs2',
  1952539503: 'ocfs2',
  2020557398: 'vboxsf',
  3133910204: 'vmhgfs',
};

const UNKNOWN: FileSystem = Object.freeze({ name: 'unknown', isNetwork: false });

const statfsAsync = promisify(statfs);

/** The file system of an open file; `path` is asked where there is no /proc. Off the event loop, since a server may answer. */
export async function fileSystemAt(descriptor: number, path: string): Promise<FileSystem> {
  const status = await statfsAsync(ownPath(descriptor))
    .catch(() => statfsAsync(path))
    .catch(() => undefined);
  return fileSystemOf(status?.type);
}

/** The same on this thread. */
export function fileSystemAtSync(descriptor: number, path: string): FileSystem {
  for (const place of [ownPath(descriptor), path]) {
    try {
      return fileSystemOf(statfsSync(place).type);
    } catch {
      // Asked in the next way.
    }
  }
  return UNKNOWN;
}

/** A name for the open file that stays right when another takes its path. */
function ownPath(descriptor: number): string {
  return `/proc/self/fd/${descriptor}`;
}

/** What a number of statfs stands for, frozen. Other systems than Linux use numbers of their own, which say nothing here. */
export function fileSystemOf(type: number | undefined, platform: string = process.platform): FileSystem {
  if (platform !== 'linux' || type === undefined) return UNKNOWN;
  const number = type >>> 0; // some runtimes extend the sign of a 32-bit number
  const network = NETWORK[number];
  const name = network ?? LOCAL[number] ?? `0x${number.toString(16)}`;
  return Object.freeze({ name, isNetwork: network !== undefined });
}

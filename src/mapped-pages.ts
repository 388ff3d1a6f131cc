// Owns the pages of a mapping: bringing them in off the event loop, asking which are there, giving them back.
// Refuses to decide when; and to touch a byte, which could raise a signal.

import { constants } from 'node:os';
import { getSystemErrorName } from 'node:util';

import type { MappingHandle, NativeBinding } from './binding.js';
import type { Origin } from './origin.js';
import { readAhead } from './read-ahead.js';

const { EFAULT, EINVAL } = constants.errno;

/** Memory that the hardware has found broken; Node has no name for it. */
const EHWPOISON = 133;

/** Set to `read` it makes prefetch do as where the system cannot populate a mapping (tests). */
const SWITCH = 'SAFETENSORS_MMAP_PREFETCH';

/** Whether the system has had no call that populates a mapping. */
let lacksPopulate = false;

export interface MappedPages {
  readonly binding: NativeBinding;
  readonly handle: MappingHandle;
  readonly origin: Origin;
  /** Throws CLOSED once the mapping was given back. */
  requireOpen(): void;
}

/**
 * Brings ranges in. Locally the pages are populated. Over a network, and where the system cannot do that, the file is read
 * instead, since page faults ask for little at a time. Rejects with TRUNCATED_DATA, CLOSED, and the system's error.
 */
export async function bringIn(pages: MappedPages, ranges: readonly number[]): Promise<void> {
  const { binding, handle, origin, requireOpen } = pages;
  requireOpen();
  const populates = !lacksPopulate && process.env[SWITCH] !== 'read';
  if (!populates || origin.fileSystem.isNetwork) {
    const wasRead = await origin.use((descriptor) => readAhead(descriptor, ranges));
    requireOpen();
    if (!populates) {
      // The file has no name any more: a hint is all that is left.
      if (!wasRead) await binding.bringIn(handle, ranges);
      return;
    }
  }
  let errno = await binding.bringIn(handle, ranges);
  if (errno === EINVAL) {
    lacksPopulate = true;
    return bringIn(pages, ranges);
  }
  // Where a touch would raise SIGBUS: the file has become shorter, or its disk fails. Reading tells which.
  if (errno === EFAULT && (await origin.use((descriptor) => readAhead(descriptor, ranges)))) {
    requireOpen();
    errno = await binding.bringIn(handle, ranges);
  }
  if (errno !== 0) throw pageError(errno, ranges);
}

/** Asks for the largest pages where that can help: they are chosen when a local file is first read. */
export async function askForLargePages(pages: MappedPages, ranges: readonly number[]): Promise<void> {
  if (!pages.origin.fileSystem.isNetwork) await pages.binding.askForLargePages(pages.handle, ranges);
}

/** How many bytes are in memory; undefined where the system does not say. */
export function residentBytes({ binding, handle, origin }: MappedPages, ranges: readonly number[]): number | undefined {
  // Asked of the page cache first: that takes a step for each large page, the mapping one for each 4 KiB.
  const cached = origin.useSync((descriptor) => binding.cachedBytes(descriptor, ranges)) ?? -1;
  if (cached >= 0) return cached;
  const resident = origin.tellsResidency ? binding.residentBytes(handle, ranges) : -1;
  return resident < 0 ? undefined : resident;
}

/** Gives pages back, first those of the mapping, since the cache keeps what is mapped. */
export function evict({ binding, handle, origin }: MappedPages, ranges: readonly number[]): void {
  binding.evict(handle, ranges);
  origin.useSync((descriptor) => binding.dropCached(descriptor, ranges));
}

function pageError(errno: number, ranges: readonly number[]): Error {
  // What is left of EFAULT is a disk that fails, behind a file that cannot be opened again to see how.
  const number = errno === EFAULT ? constants.errno.EIO : errno;
  const code = number === EHWPOISON ? 'EHWPOISON' : getSystemErrorName(-number);
  const message = `${code}: cannot bring in bytes of [${ranges[0]}, ${ranges.at(-1)}) of a mapped file, madvise`;
  return Object.assign(new Error(message), { errno: -number, code, syscall: 'madvise' });
}

// Owns the order of steps from a path to an open file: open, check, read the header, map, close the descriptor.
// Refuses what is not a regular file. The system's failures pass through as node:fs reports them.

import {
  type BigIntStats,
  close,
  closeSync,
  constants,
  fstat,
  fstatSync,
  open as openFile,
  openSync as openFileSync,
} from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify, types } from 'node:util';
import { readRange, readRangeSync } from './descriptor.js';
import { quote, SafeTensorsError } from './errors.js';
import { type FileSystem, fileSystemAt, fileSystemAtSync } from './file-system.js';
import type { Header } from './header.js';
import { FIRST_READ, readHeaderAsync, readHeaderSync } from './header-steps.js';
import { type FileIdentity, identityBy, placeBy, placeOf, setPlace } from './identity.js';
import { canMap, MappedSource } from './mapping.js';
import { MemorySource } from './memory.js';
import { type OpenOptions, type ResolvedOptions, resolveOptions } from './options.js';
import { Origin } from './origin.js';
import { ReadingSource } from './reading.js';
import { SafeTensors } from './safetensors.js';
import type { Source } from './source.js';

// Opening a FIFO for reading waits for a writer, perhaps for ever; with O_NONBLOCK it does not. Files do not care.
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

const openAsync = promisify(openFile);
const closeAsync = promisify(close);
const statAsync: (descriptor: number, options: { bigint: true }) => Promise<BigIntStats> = promisify(fstat);

/** Where short headers are read to on this thread: nothing keeps their bytes. */
const scratch = new Uint8Array(FIRST_READ);

let warned = false;

/**
 * Opens a safetensors file; the header is read off the event loop and checked against every rule of the format, the data
 * is mapped and not touched. `path` is a string or a file: URL. Throws SafeTensorsError, or the system's error (ENOENT,
 * EACCES …).
 */
export async function open(path: string | URL, options?: OpenOptions): Promise<SafeTensors> {
  const resolved = resolveOptions(options);
  const file = pathOf(path);
  const absolute = resolve(file); // now: the working directory may be another when the file is open
  return withFile(file, async (descriptor, status) =>
    attach(descriptor, await headerOf(descriptor, status, file, resolved.maxHeaderLength), resolved, {
      absolute,
      status,
      fileSystem: await fileSystemAt(descriptor, absolute),
    }),
  );
}

/** The same as `open`, on this thread. */
export function openSync(path: string | URL, options?: OpenOptions): SafeTensors {
  const resolved = resolveOptions(options);
  const file = pathOf(path);
  const descriptor = openFileSync(file, OPEN_FLAGS);
  let opened: SafeTensors | undefined;
  try {
    const status = requireRegular(fstatSync(descriptor, { bigint: true }), file);
    const { maxHeaderLength } = resolved;
    const header = readHeaderSync({ byteLength: Number(status.size), path: file, maxHeaderLength }, (begin, end) =>
      readRangeSync(
        descriptor,
        begin,
        end,
        end - begin <= scratch.length ? scratch.subarray(0, end - begin) : undefined,
      ),
    );
    setPlace(header, placeBy(status));
    const [absolute, fileSystem] = [resolve(file), fileSystemAtSync(descriptor, file)];
    opened = attach(descriptor, header, resolved, { absolute, status, fileSystem });
    return opened;
  } finally {
    if (opened?.backend !== 'read') closeSync(descriptor);
  }
}

/**
 * A whole file that is in memory already. Views are made over `bytes`, which must stay as they are while in use; the
 * header is checked as `open` does. Misaligned tensors are copied also with `misaligned: 'view'`: JavaScript cannot start
 * a buffer elsewhere. Throws SafeTensorsError.
 */
export function parse(bytes: Uint8Array | ArrayBufferLike, options?: OpenOptions): SafeTensors {
  const { maxHeaderLength, misaligned } = resolveOptions(options);
  const file = wholeFile(bytes);
  const header = readHeaderSync({ byteLength: file.byteLength, path: undefined, maxHeaderLength }, (begin, end) =>
    file.subarray(begin, end),
  );
  return SafeTensors.over(header, new MemorySource(file), misaligned);
}

/** Reads and checks the header alone: names, shapes, offsets, metadata. Maps nothing and keeps nothing open. */
export async function readHeader(path: string | URL, options?: Pick<OpenOptions, 'maxHeaderLength'>): Promise<Header> {
  return (await readIdentified(path, options)).header;
}

/** The whole of an index, off the event loop. Throws INVALID_INDEX when it is longer than a header may be. */
export async function readIndex(path: string, maxLength: number): Promise<Uint8Array> {
  return withFile(path, (descriptor, status) => {
    if (status.size <= BigInt(maxLength)) return readRange(descriptor, 0, Number(status.size));
    const message = `${quote(path)}: the index has ${status.size} bytes; the limit is ${maxLength} (maxHeaderLength)`;
    throw new SafeTensorsError('INVALID_INDEX', message, { path, isFormatError: true });
  });
}

/** A header, and the identity of the file that it was read from. */
export async function readIdentified(
  path: string | URL,
  options: Pick<OpenOptions, 'maxHeaderLength'> | undefined,
): Promise<{ header: Header; identity: FileIdentity; fileSystem: FileSystem }> {
  const { maxHeaderLength } = resolveOptions(options);
  const file = pathOf(path);
  return withFile(file, async (descriptor, status) => ({
    header: await headerOf(descriptor, status, file, maxHeaderLength),
    identity: identityBy(status),
    fileSystem: await fileSystemAt(descriptor, file),
  }));
}

/** A file whose header was read before. */
export interface Identified {
  readonly header: Header;
  readonly path: string;
  readonly identity: FileIdentity;
  readonly fileSystem: FileSystem;
}

/** Maps a file whose header was read before. Throws SHARD_CHANGED when it is another file by now. */
export function openIdentified(file: Identified, options: ResolvedOptions): SafeTensors {
  const { path } = file;
  const descriptor = openFileSync(path, OPEN_FLAGS);
  let opened: SafeTensors | undefined;
  try {
    opened = attachIdentified(descriptor, requireRegular(fstatSync(descriptor, { bigint: true }), path), file, options);
    return opened;
  } finally {
    if (opened?.backend !== 'read') closeSync(descriptor);
  }
}

/** The same off the event loop. */
export async function openIdentifiedAsync(file: Identified, options: ResolvedOptions): Promise<SafeTensors> {
  return withFile(file.path, async (descriptor, status) => attachIdentified(descriptor, status, file, options));
}

function attachIdentified(
  descriptor: number,
  status: BigIntStats,
  { header, path, identity, fileSystem }: Identified,
  options: ResolvedOptions,
): SafeTensors {
  if (identityBy(status) === identity)
    return attach(descriptor, header, options, { absolute: path, status, fileSystem });
  const message = `${quote(path)} has been replaced or changed since the model was opened`;
  throw new SafeTensorsError('SHARD_CHANGED', message, { path });
}

/** Opens a regular file for one use and closes it afterwards, unless the use has made it the source of an open file. */
async function withFile<T>(path: string, use: (descriptor: number, status: BigIntStats) => Promise<T>): Promise<T> {
  const descriptor = await openAsync(path, OPEN_FLAGS);
  let result: T | undefined;
  try {
    result = await use(descriptor, requireRegular(await statAsync(descriptor, { bigint: true }), path));
    return result;
  } finally {
    if (!(result instanceof SafeTensors && result.backend === 'read')) await closeAsync(descriptor);
  }
}

async function headerOf(
  descriptor: number,
  status: BigIntStats,
  path: string,
  maxHeaderLength: number,
): Promise<Header> {
  const place = { byteLength: Number(status.size), path, maxHeaderLength };
  const header = await readHeaderAsync(place, (begin, end) => readRange(descriptor, begin, end));
  setPlace(header, placeBy(status));
  return header;
}

/** What the system says of an open file. */
interface Place {
  /** The file's path, whatever the working directory is by now. */
  readonly absolute: string;
  readonly status: BigIntStats;
  readonly fileSystem: FileSystem;
}

/** Joins a header with the source of its bytes. A `read` source takes the descriptor over. */
function attach(descriptor: number, header: Header, options: ResolvedOptions, place: Place): SafeTensors {
  const source = sourceOf(descriptor, header, options, place);
  return SafeTensors.over(header, source, options.misaligned, place.fileSystem);
}

function sourceOf(descriptor: number, header: Header, options: ResolvedOptions, place: Place): Source {
  if (options.backend === 'read' || (options.backend === 'auto' && !mappingWorks()))
    return new ReadingSource(descriptor);
  if (!canMap()) return new ReadingSource(descriptor);
  const plan = header.planSegments(options.misaligned === 'view');
  const origin = new Origin(place.absolute, place.status, place.fileSystem);
  const source = new MappedSource(descriptor, header.byteLength, options.protection, plan, origin);
  const known = placeOf(header);
  if (known !== undefined) setPlace(source, known);
  return source;
}

/** Whether files can be mapped here; says once why not. */
function mappingWorks(): boolean {
  let reason = 'this runtime takes no external buffers';
  try {
    if (canMap()) return true;
  } catch (error) {
    if (!(error instanceof SafeTensorsError)) throw error;
    reason = error.message;
  }
  if (!warned) {
    warned = true;
    process.emitWarning(`files are read instead of mapped: ${reason}`, { code: 'SAFETENSORS_MMAP_READS' });
  }
  return false;
}

function requireRegular(status: BigIntStats, path: string): BigIntStats {
  if (status.isFile()) return status;
  const what = status.isDirectory() ? 'a directory: openModel() opens those' : 'a device, pipe or socket';
  throw new SafeTensorsError('NOT_A_REGULAR_FILE', `${quote(path)} is not a regular file but ${what}`, { path });
}

/** A path as node:fs takes it. Throws INVALID_ARGUMENT. */
export function pathOf(path: string | URL): string {
  if (typeof path === 'string') return path;
  if (path instanceof URL) return fileURLToPath(path);
  throw new SafeTensorsError('INVALID_ARGUMENT', `a path is a string or a file: URL, not ${typeof path}`);
}

function wholeFile(bytes: Uint8Array | ArrayBufferLike): Uint8Array {
  if (!types.isUint8Array(bytes) && !types.isAnyArrayBuffer(bytes)) {
    throw new SafeTensorsError('INVALID_ARGUMENT', 'parse() takes the file as a Uint8Array or an ArrayBuffer');
  }
  // Also memory that was given away, over which no array can be made.
  if (bytes.byteLength === 0) return new Uint8Array(0);
  return types.isUint8Array(bytes) ? bytes : new Uint8Array(bytes);
}

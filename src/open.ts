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
import { fileURLToPath } from 'node:url';
import { promisify, types } from 'node:util';

import { DIAGNOSIS_LENGTH, diagnose } from './diagnosis.js';
import { quote, SafeTensorsError } from './errors.js';
import { type FileSystem, fileSystemAt, fileSystemAtSync } from './file-system.js';
import { Header, headerLengthOf, PREFIX_LENGTH } from './header.js';
import { canMap, MappedSource } from './mapping.js';
import { MemorySource } from './memory.js';
import { type OpenOptions, type ResolvedOptions, resolveOptions } from './options.js';
import { Origin } from './origin.js';
import { ReadingSource, readRange, readRangeSync } from './reading.js';
import { SafeTensors } from './safetensors.js';
import type { Source } from './source.js';

// Opening a FIFO for reading waits for a writer, perhaps for ever; with O_NONBLOCK it does not. Files do not care.
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

const openAsync = promisify(openFile);
const closeAsync = promisify(close);
const statAsync: (descriptor: number, options: { bigint: true }) => Promise<BigIntStats> = promisify(fstat);

let warned = false;

/**
 * Opens a safetensors file; the header is read off the event loop and checked against every rule of the format, the data
 * is mapped and not touched. `path` is a string or a file: URL. Throws SafeTensorsError, or the system's error (ENOENT,
 * EACCES …).
 */
export async function open(path: string | URL, options?: OpenOptions): Promise<SafeTensors> {
  const resolved = resolveOptions(options);
  const file = pathOf(path);
  return withFile(file, async (descriptor, status) =>
    attach(descriptor, await headerOf(descriptor, status, file, resolved.maxHeaderLength), resolved, {
      status,
      fileSystem: await fileSystemAt(descriptor, file),
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
    const steps = headerSteps(Number(status.size), file, resolved.maxHeaderLength);
    const header = drive(steps, ([begin, end]) => readRangeSync(descriptor, begin, end));
    opened = attach(descriptor, header, resolved, { status, fileSystem: fileSystemAtSync(descriptor, file) });
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
  const resolved = resolveOptions(options);
  const file = wholeFile(bytes);
  const steps = headerSteps(file.byteLength, undefined, resolved.maxHeaderLength);
  const header = drive(steps, ([begin, end]) => file.subarray(begin, end));
  return SafeTensors.over(header, new MemorySource(file), resolved.misaligned);
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

/** What tells a file from another that has taken its name. */
export type FileIdentity = string;

/** A header, and the identity of the file that it was read from. */
export async function readIdentified(
  path: string | URL,
  options: Pick<OpenOptions, 'maxHeaderLength'> | undefined,
): Promise<{ header: Header; identity: FileIdentity; fileSystem: FileSystem }> {
  const { maxHeaderLength } = resolveOptions(options);
  const file = pathOf(path);
  return withFile(file, async (descriptor, status) => ({
    header: await headerOf(descriptor, status, file, maxHeaderLength),
    identity: identityOf(status),
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
  if (identityOf(status) === identity) return attach(descriptor, header, options, { status, fileSystem });
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
  const steps = headerSteps(Number(status.size), path, maxHeaderLength);
  let step = steps.next();
  while (!step.done) {
    const read = await readRange(descriptor, ...step.value).catch((error: unknown) => ({ error }));
    step = read instanceof Uint8Array ? steps.next(read) : steps.throw(read.error);
  }
  return step.value;
}

/** Runs the steps with a way of reading; what that throws is thrown where the range was asked for. */
function drive(steps: Generator<Range, Header, Uint8Array>, read: (range: Range) => Uint8Array): Header {
  let step = steps.next();
  while (!step.done) {
    let bytes: Uint8Array;
    try {
      bytes = read(step.value);
    } catch (error) {
      step = steps.throw(error);
      continue;
    }
    step = steps.next(bytes);
  }
  return step.value;
}

type Range = [begin: number, end: number];

/** The reading of a header, as the ranges of the file that it needs one after the other. */
function* headerSteps(
  byteLength: number,
  path: string | undefined,
  maxHeaderLength: number,
): Generator<Range, Header, Uint8Array> {
  try {
    const prefix = yield [0, Math.min(PREFIX_LENGTH, byteLength)];
    const headerLength = headerLengthOf(prefix, byteLength, maxHeaderLength);
    const bytes = yield [PREFIX_LENGTH, PREFIX_LENGTH + headerLength];
    return new Header(bytes, byteLength, path);
  } catch (cause) {
    if (!(cause instanceof SafeTensorsError)) throw cause;
    let guess: string | undefined;
    try {
      guess = diagnose(yield [0, Math.min(DIAGNOSIS_LENGTH, byteLength)], byteLength);
    } catch {
      // What cannot be read cannot be guessed at; the fault that was found counts.
    }
    const where = path === undefined ? '' : `${quote(path)}: `;
    const message = `${where}${cause.message}${guess === undefined ? '' : `; ${guess}`}`;
    throw new SafeTensorsError(cause.code, message, {
      path,
      tensor: cause.tensor,
      isFormatError: true,
      cause,
    });
  }
}

/** What the system says of an open file. */
interface Place {
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
  const origin = new Origin(header.path!, place.status, place.fileSystem);
  return new MappedSource(descriptor, header.byteLength, options.protection, plan, origin);
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

function identityOf(status: BigIntStats): FileIdentity {
  return [status.dev, status.ino, status.size, status.mtimeNs].join(':');
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

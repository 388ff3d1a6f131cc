// Owns the reading of a header as steps: which ranges of a file are needed, one after the other, and what a failure looks
// like. Refuses to read: that is done by what is given, on this thread or off it.

import { DIAGNOSIS_LENGTH, diagnose } from './diagnosis.js';
import { quote, SafeTensorsError } from './errors.js';
import { Header, headerLengthOf, PREFIX_LENGTH } from './header.js';

/** A file whose header is to be read. */
export interface HeaderFile {
  /** Of the whole file. */
  readonly byteLength: number;
  /** For messages; undefined for bytes in memory. */
  readonly path: string | undefined;
  readonly maxHeaderLength: number;
}

/** Bytes of the first read: with them come the headers of most files, a hundred tensors long. */
export const FIRST_READ = 2 ** 14;

type Range = [begin: number, end: number];

/** Reads a header with `read`, which gives the bytes [begin, end). Throws the rule that is broken, and what `read` throws. */
export function readHeaderSync(file: HeaderFile, read: (begin: number, end: number) => Uint8Array): Header {
  const steps = headerSteps(file);
  let step = steps.next();
  while (!step.done) {
    let bytes: Uint8Array;
    try {
      bytes = read(...step.value);
    } catch (error) {
      step = steps.throw(error);
      continue;
    }
    step = steps.next(bytes);
  }
  return step.value;
}

/** The same with reads that are waited for. */
export async function readHeaderAsync(
  file: HeaderFile,
  read: (begin: number, end: number) => Promise<Uint8Array>,
): Promise<Header> {
  const steps = headerSteps(file);
  let step = steps.next();
  while (!step.done) {
    const bytes = await read(...step.value).catch((error: unknown) => ({ error }));
    step = bytes instanceof Uint8Array ? steps.next(bytes) : steps.throw(bytes.error);
  }
  return step.value;
}

function* headerSteps({ byteLength, path, maxHeaderLength }: HeaderFile): Generator<Range, Header, Uint8Array> {
  try {
    const first = yield [0, Math.min(FIRST_READ, byteLength)];
    const headerLength = headerLengthOf(first, byteLength, maxHeaderLength);
    const end = PREFIX_LENGTH + headerLength;
    const bytes = end <= first.length ? first.subarray(PREFIX_LENGTH, end) : yield [PREFIX_LENGTH, end];
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
    // What the file is comes first: to whoever sees that, the rule that it breaks says little.
    const message = `${where}${guess === undefined ? '' : `${guess}; `}${cause.message}`;
    throw new SafeTensorsError(cause.code, message, {
      path,
      tensor: cause.tensor,
      isFormatError: true,
      cause,
    });
  }
}

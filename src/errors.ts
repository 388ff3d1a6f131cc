// Owns the error class and its codes. Failures of the system (ENOENT, EACCES …) are not wrapped:
// they keep the shape that node:fs gives them.

/** What went wrong, for programs; the message says it for people, with the name, the value and the limit. */
export type ErrorCode =
  | 'HEADER_TOO_SMALL'
  | 'HEADER_TOO_LARGE'
  | 'INVALID_HEADER_LENGTH'
  | 'INVALID_HEADER_UTF8'
  | 'INVALID_HEADER_JSON'
  | 'INVALID_METADATA'
  | 'INVALID_TENSOR_INFO'
  | 'UNKNOWN_DTYPE'
  | 'DUPLICATE_KEY'
  | 'INVALID_OFFSETS'
  | 'SIZE_OVERFLOW'
  | 'SIZE_MISMATCH'
  | 'SUB_BYTE_MISALIGNED'
  | 'TRUNCATED_DATA'
  | 'TRAILING_DATA'
  | 'TENSOR_NOT_FOUND'
  | 'INVALID_SLICE'
  | 'MISALIGNED'
  | 'BUFFER_TOO_LARGE'
  | 'CLOSED'
  | 'NOT_A_REGULAR_FILE'
  | 'MODEL_NOT_FOUND'
  | 'INVALID_INDEX'
  | 'SHARD_MISSING'
  | 'SHARD_CHANGED'
  | 'UNSAFE_SHARD_NAME'
  | 'BINDING_NOT_FOUND'
  | 'UNSUPPORTED_HOST'
  | 'INVALID_TENSOR'
  | 'INVALID_ARGUMENT';

/** Codes of a file that breaks the format, as against a call that cannot be answered. */
const FORMAT_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'HEADER_TOO_SMALL',
  'HEADER_TOO_LARGE',
  'INVALID_HEADER_LENGTH',
  'INVALID_HEADER_UTF8',
  'INVALID_HEADER_JSON',
  'INVALID_METADATA',
  'INVALID_TENSOR_INFO',
  'UNKNOWN_DTYPE',
  'DUPLICATE_KEY',
  'INVALID_OFFSETS',
  'SIZE_OVERFLOW',
  'SIZE_MISMATCH',
  'SUB_BYTE_MISALIGNED',
  'TRUNCATED_DATA',
  'TRAILING_DATA',
  'INVALID_INDEX',
  'SHARD_MISSING',
  'UNSAFE_SHARD_NAME',
]);

export interface ErrorDetails {
  /** The file, where one is known. */
  path?: string | undefined;
  /** The tensor, where one is to blame. */
  tensor?: string | undefined;
  cause?: unknown;
}

/** Every failure that is this library's to report. `code` is stable, the wording of `message` is not. */
export class SafeTensorsError extends Error {
  readonly code: ErrorCode;
  declare readonly path?: string;
  declare readonly tensor?: string;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    if (details.path !== undefined) this.path = details.path;
    if (details.tensor !== undefined) this.tensor = details.tensor;
  }

  /** Whether the file itself breaks a rule of the format. */
  get isFormatError(): boolean {
    return FORMAT_CODES.has(this.code);
  }
}
Object.defineProperty(SafeTensorsError.prototype, 'name', { value: 'SafeTensorsError' });

/** A name or value from a file or a caller, quoted and cut for use in a message: no control characters, bounded. */
export function quote(text: string): string {
  const cut = text.length > 120 ? `${text.slice(0, 117)}…` : text;
  return JSON.stringify(cut).replace(
    /[\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

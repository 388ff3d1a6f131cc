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
  | 'READ_FAILED'
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

export interface ErrorDetails {
  /** The file, where one is known. */
  path?: string | undefined;
  /** The tensor, where one is to blame. */
  tensor?: string | undefined;
  /** Whether the file breaks a rule of the format, as against a call that cannot be answered. */
  isFormatError?: boolean | undefined;
  cause?: unknown;
}

/** Every failure that is this library's to report. `code` is stable, the wording of `message` is not. */
export class SafeTensorsError extends Error {
  readonly code: ErrorCode;
  declare readonly path?: string;
  declare readonly tensor?: string;
  /** Whether the file (or an index with its shards) breaks a rule of the format. */
  readonly isFormatError: boolean;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.isFormatError = details.isFormatError === true;
    if (details.path !== undefined) this.path = details.path;
    if (details.tensor !== undefined) this.tensor = details.tensor;
  }
}
Object.defineProperty(SafeTensorsError.prototype, 'name', { value: 'SafeTensorsError' });

/** A name or value from a file or a caller, quoted and cut for use in a message: no control characters, bounded. */
export function quote(text: string): string {
  const cut = text.length > 120 ? `${text.slice(0, 117)}…` : text;
  return JSON.stringify(cut).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, (c) =>
    Array.from({ length: c.length }, (_, i) => `\\u${c.charCodeAt(i).toString(16).padStart(4, '0')}`).join(''),
  );
}

/** A value of any type for use in a message: text quoted, numbers as they are, of others the type. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'number' || value === null || value === undefined) return String(value);
  return `of type ${typeof value}`;
}

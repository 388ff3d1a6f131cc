// Owns what this example says when it cannot go on. Refuses to wrap the library's errors: those pass through as they are.

/**
 * INVALID_CONFIG: a file of the model's directory does not say what it has to. UNSUPPORTED_MODEL: it says something that
 * this example does not compute. INVALID_ARGUMENT: the caller's mistake. CONTEXT_FULL: more tokens than the model has
 * positions for. BUSY: a state is already in use by another call.
 */
export type LlamaErrorCode = 'INVALID_CONFIG' | 'UNSUPPORTED_MODEL' | 'INVALID_ARGUMENT' | 'CONTEXT_FULL' | 'BUSY';

/** An error of the example, told from others by its `code`. */
export class LlamaError extends Error {
  override readonly name = 'LlamaError';
  readonly code: LlamaErrorCode;

  constructor(code: LlamaErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** A value from outside as a short piece of a message, on one line. */
export function shown(value: unknown): string {
  const text = words(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

/** JSON has no words for NaN, infinity and big integers, and a function's own text has lines. */
function words(value: unknown): string {
  if (typeof value === 'string' || typeof value === 'object') return JSON.stringify(value);
  if (typeof value === 'bigint') return `${value}n`;
  return typeof value === 'function' ? 'a function' : String(value);
}

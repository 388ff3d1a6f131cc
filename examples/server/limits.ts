// Owns every bound that the server keeps, in one place. Refuses to enforce one: each is enforced where its subject is.

/** What the server allows. All of it is per process. */
export interface Limits {
  /** Generations under way at once; one more is refused with 429 after a moment, never queued. */
  readonly generations: number;
  /** Histograms under way at once, refused in the same way. */
  readonly histograms: number;
  /** Longest request body, in bytes. */
  readonly bodyBytes: number;
  /** Longest prompt, in UTF-16 units: it is made tokens in one go, which takes up to 10 ms for a thousand. */
  readonly promptLength: number;
  /** Most tokens that a request may ask for. */
  readonly tokens: number;
  /**
   * Longest generation, in seconds; it also frees the place of a client that does not read. A connection on which nothing
   * moves for a quarter longer is cut.
   */
  readonly generationSeconds: number;
  /** Longest wait for the rest of a request, in seconds. */
  readonly requestSeconds: number;
  /** Requests of one connection that are not answered yet: their answers are kept until their turn comes. */
  readonly unanswered: number;
  /** Open connections; further ones are closed at once. */
  readonly connections: number;
  /** How long generations may go on after the signal to shut down, in seconds. */
  readonly graceSeconds: number;
}

export const LIMITS: Limits = {
  generations: 4,
  histograms: 2,
  bodyBytes: 65_536,
  promptLength: 4_096,
  tokens: 1_024,
  generationSeconds: 120,
  requestSeconds: 15,
  unanswered: 8,
  connections: 512,
  graceSeconds: 5,
};

/** Seconds between two looks for requests that have not come in time: they may take so much longer. */
export const LOOK_SECONDS = 1;

/** Tokens of a request that names no number. */
export const DEFAULT_TOKENS = 128;

/** How long the last bytes of a stream may take to reach the client, in seconds. */
export const FLUSH_SECONDS = 2;

/** About how long a request for which there is no place is held before it is refused, if there is still none then. */
export const BUSY_MILLISECONDS = 100;

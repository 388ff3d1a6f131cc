// Owns how much of Node's thread pool long work may take: all threads but one, which is left to what a server does meanwhile.
// Refuses to change the pool's size, which is the application's.

/** Node starts four threads unless UV_THREADPOOL_SIZE says otherwise; what is no number there counts as one. */
const POOL =
  process.env.UV_THREADPOOL_SIZE === undefined ? 4 : Number.parseInt(process.env.UV_THREADPOOL_SIZE, 10) || 1;

let free = Math.max(1, POOL - 1);
const waiting: (() => void)[] = [];

/** Waits for a place, in order of asking; the function returned gives it back. */
export async function poolSlot(): Promise<() => void> {
  if (free > 0) free--;
  else await new Promise<void>((resolve) => waiting.push(resolve));
  return () => {
    const next = waiting.shift();
    if (next === undefined) free++;
    else next();
  };
}

// Owns the sharing of the event loop: how long a computation goes on before others have their turn.
// Refuses to run two computations in one turn, so that many at once delay a server no longer than one does.

/** Milliseconds of computing in one turn of the event loop. */
const TURN = 4;

const waiting: (() => void)[] = [];
let began = Number.NEGATIVE_INFINITY;
let scheduled = false;

/** Resolves at once while this turn has time left, else in a later turn of the event loop; first come, first served. */
export function myTurn(): Promise<void> | undefined {
  return performance.now() - began < TURN ? undefined : nextTurn();
}

/** Resolves in a later turn of the event loop. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    schedule();
  });
}

function schedule(): void {
  if (scheduled || waiting.length === 0) return;
  scheduled = true;
  setImmediate(() => {
    scheduled = false;
    began = performance.now();
    waiting.shift()?.();
    schedule();
  });
}

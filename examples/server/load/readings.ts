// Owns what is read of a server from outside: /metrics, and what lies between two readings of it. Refuses to judge.

/** The numbers of /metrics by their whole names, labels included. */
export type Reading = ReadonlyMap<string, number>;

/** Asks a server for its metrics. */
export async function read(address: string): Promise<Reading> {
  const text = await (await fetch(`${address}/metrics`)).text();
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
}

/** How late the event loop was between two readings, in seconds: the bound that `quantile` of the looks kept. */
export function delayQuantile(before: Reading, after: Reading, quantile: number): { atMost: number; looks: number } {
  const name = 'event_loop_delay_seconds';
  const grown = (line: string) => (after.get(line) ?? 0) - (before.get(line) ?? 0);
  const looks = grown(`${name}_count`);
  for (const line of after.keys()) {
    const bound = /_bucket\{le="(.+)"\}$/.exec(line)?.[1];
    if (bound !== undefined && line.startsWith(name) && grown(line) >= looks * quantile) {
      return { atMost: bound === '+Inf' ? Number.POSITIVE_INFINITY : Number(bound), looks };
    }
  }
  return { atMost: Number.POSITIVE_INFINITY, looks };
}

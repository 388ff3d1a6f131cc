// Owns a server on a free port over a model that is a fake: real weights of a few kilobytes, and words at a chosen pace.
// Refuses to compute anything: what examples/llama writes is tested beside it.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { afterAll } from 'vitest';
import type { Generation, Load } from '../../../examples/server/engine.js';
import type { Limits } from '../../../examples/server/limits.js';
import { createServer, type Server } from '../../../examples/server/server.js';
import { openModel, save, type TensorInput } from '../../../src/index.js';

const directory = mkdtempSync(join(tmpdir(), 'safetensors-server-'));
const file = join(directory, 'model.safetensors');
const running = new Set<Server>();

await save(file, {
  'model.embed.weight': { dtype: 'F32', shape: [64, 64], data: Float32Array.from({ length: 4096 }, (_, i) => i) },
  'model.layers.0.weight': { dtype: 'F32', shape: [6], data: Float32Array.of(-1, 0, 1, 2, Number.NaN, Infinity) },
  'model.layers.10.weight': { dtype: 'F32', shape: [2], data: Float32Array.of(5, 5) },
  'model.layers.2.weight': { dtype: 'C64', shape: [1], data: Float32Array.of(1, 2) },
  'odd/name": é': { dtype: 'U8', shape: [0], data: new Uint8Array(0) },
});

/** Names of tensors that a path, a tree, a page or an object could stumble over. */
export const HOSTILE_NAMES: readonly string[] = [
  '',
  '..',
  'a/../b?c=d#e%2f',
  'x'.repeat(3000),
  Array.from({ length: 12_000 }, () => 'd').join('.'),
  '__proto__.constructor',
  '<img src=x onerror="window.broken=true">',
  '\u2028\n\ud83d\ude00',
];

/** The fake over tensors of those names. */
export const loadHostile = await loadOf('hostile', HOSTILE_NAMES);

async function loadOf(folder: string, names: readonly string[]): Promise<Load> {
  const place = join(directory, folder);
  mkdirSync(place);
  const tensors = names.map((name): [string, TensorInput] => [
    name,
    { dtype: 'U8', shape: [1], data: Uint8Array.of(3) },
  ]);
  await save(join(place, 'model.safetensors'), new Map(tensors));
  return () => fakeLoad({ begun: 0, left: 0 })(place);
}

afterAll(async () => {
  await Promise.all(Array.from(running, (server) => server.close()));
  rmSync(directory, { recursive: true, force: true });
});

/** What became of the fake's generations. */
interface FakeCounts {
  begun: number;
  /** Those whose generator was left, in whatever way. */
  left: number;
}

/** A running server. */
export interface Running {
  readonly server: Server;
  readonly address: string;
  readonly counts: FakeCounts;
  /** Lines for the operator. */
  readonly lines: string[];
  /** Whether no place is taken, and no generator left running. */
  atRest(): Promise<boolean>;
}

/** Starts one that is closed after the file's tests; its models are open unless that is not to be waited for. */
export async function start(limits: Partial<Limits> = {}, load?: Load, waits = true): Promise<Running> {
  const counts = { begun: 0, left: 0 };
  const lines: string[] = [];
  const server = await createServer({
    models: [
      { name: 'first', directory },
      { name: 'second', directory },
    ],
    load: load ?? fakeLoad(counts),
    limits: { graceSeconds: 0.05, ...limits },
    report: (line) => lines.push(line),
  });
  running.add(server);
  const address = await server.listen(0);
  if (waits)
    await until(async () => Array.from(server.models).every(({ state }) => state === 'ready' || state === 'failed'));
  const atRest = async () => (await metric(address, 'generations_active')) === 0 && counts.begun === counts.left;
  return { server, address, counts, lines, atRest };
}

/** The fake as a model. A prompt is `pace:…` (milliseconds a word), `fail`, `fail later`, `flood`, `odd` or anything else. */
function fakeLoad(counts: FakeCounts): Load {
  return async (from) => {
    const weights = await openModel(from);
    return {
      weights,
      generate: (prompt, { maxTokens = 1, seed = 0, signal }) => words(counts, prompt, maxTokens, seed, signal),
      close: () => weights.close(),
    };
  };
}

/** Words that are always the same. U+2028 ends a line in a regular expression, and none in JSON or an event. */
const TEXTS: ReadonlyMap<string, string> = new Map([
  ['flood', 'x'.repeat(1_000_000)],
  ['odd', '\u2028<b>"\r\n\n'],
]);

async function* words(
  counts: FakeCounts,
  prompt: string,
  maxTokens: number,
  seed: number,
  signal: AbortSignal | undefined,
): Generation {
  counts.begun += 1;
  try {
    if (prompt === 'fail') throw new Error('a secret of the operator');
    const pace = Number(/^pace:(\d+)/.exec(prompt)?.[1] ?? 0);
    for (let token = 0; token < maxTokens; token++) {
      // No matter why the wait ends, the reason is the signal's.
      await (pace === 0 ? nextTurn() : sleep(pace, undefined, { signal }).catch(() => {}));
      signal?.throwIfAborted();
      if (prompt === 'fail later' && token === 2) throw new Error('a secret of the operator');
      yield { token, text: TEXTS.get(prompt) ?? ` word${token}\n` };
    }
    return { promptTokens: 1, tokens: maxTokens, text: '', reason: 'length', seed };
  } finally {
    counts.left += 1;
  }
}

/** Bytes of POST /generate. */
export function rawRequest(body: unknown): string {
  const text = JSON.stringify(body);
  const head = `host: localhost\r\ncontent-type: application/json\r\ncontent-length: ${text.length}`;
  return `POST /generate HTTP/1.1\r\n${head}\r\n\r\n${text}`;
}

/** A connection, for what fetch does not send. */
export function connectTo(address: string): Socket {
  return connect(Number(new URL(address).port), '127.0.0.1').setEncoding('utf8');
}

/** Waits for something that is about to become true. */
export async function until(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await sleep(10);
}

/** Posts to /generate. */
export function post(address: string, body: unknown, init: RequestInit = {}): Promise<Response> {
  const content = typeof body === 'string' ? body : JSON.stringify(body);
  const headers = { 'content-type': 'application/json' };
  return fetch(`${address}/generate`, { method: 'POST', headers, body: content, ...init });
}

/** The value of one line of /metrics. */
export async function metric(address: string, line: string): Promise<number> {
  const text = await (await fetch(`${address}/metrics`)).text();
  const found = text.split('\n').find((one) => one.startsWith(`${line} `));
  return found === undefined ? 0 : Number(found.slice(line.length + 1));
}

/** A client that asks for a generation and never reads the answer. */
export function askWithoutReading(address: string, body: unknown): Socket {
  const socket = connectTo(address).pause();
  socket.write(rawRequest(body));
  return socket;
}

/** All events of a stream. */
export async function eventsOf(response: Response): Promise<{ event: string; data: Record<string, unknown> }[]> {
  const frames = (await response.text()).split('\n\n');
  if (frames.pop() !== '') throw new Error('the stream does not end with a whole event');
  return frames.map((frame) => {
    const [, event = '', data = ''] = /^event: (\w+)\ndata: (.*)$/.exec(frame) ?? [];
    return { event, data: JSON.parse(data) as Record<string, unknown> };
  });
}

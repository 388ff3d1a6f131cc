// Owns the pace of a stream: what `send` waits for, and what ends the wait. Refuses a network, whose buffers would hide it.

import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { expect, it, vi } from 'vitest';
import { EventStream } from '../../../examples/server/event-stream.js';

/** As much of a response as a stream uses; it takes one event, and then has enough. */
class FullResponse extends EventEmitter {
  destroyed = false;
  socket: object | null = null;
  readonly written: string[] = [];
  writeHead(): void {}
  flushHeaders(): void {}
  end(): void {}
  destroy(): void {
    this.destroyed = true;
  }
  write(text: string): boolean {
    this.written.push(text);
    return this.written.length < 2;
  }
}

const response = () => {
  const full = new FullResponse();
  return { full, stream: new EventStream(full as unknown as ServerResponse) };
};

/** Whether a promise is settled once everything that could settle it has had its turn. */
async function isSettled(promise: Promise<void>): Promise<boolean> {
  let settled = false;
  promise.then(() => {
    settled = true;
  });
  await new Promise(setImmediate);
  return settled;
}

it.each([
  ['the client reads on', (full: FullResponse) => full.emit('drain')],
  ['the client has gone', (full: FullResponse) => full.emit('close')],
  ['the generation is ended', (_: FullResponse, end: AbortController) => end.abort()],
])('send waits for a client that has enough until %s', async (_, happen) => {
  const { full, stream } = response();
  const end = new AbortController();
  expect(await isSettled(stream.send('token', { text: 'a\nb' }, end.signal))).toBe(true);
  expect(full.written).toEqual(['event: token\ndata: {"text":"a\\nb"}\n\n']);
  const second = stream.send('token', {}, end.signal);
  expect(await isSettled(second)).toBe(false);
  happen(full, end);
  expect(await isSettled(second)).toBe(true);
  expect([full.listenerCount('drain'), full.listenerCount('close')]).toEqual([0, 0]);
});

it('send to a client that has gone does nothing', async () => {
  const { full, stream } = response();
  full.destroyed = true;
  expect(await isSettled(stream.send('token', {}))).toBe(true);
  expect(full.written).toEqual([]);
});

it('end cuts off a client that does not take the last event, but not one whose turn has not come', () => {
  vi.useFakeTimers();
  const { full, stream } = response();
  stream.end('summary', {});
  vi.runAllTimers();
  expect(full.destroyed).toBe(false);
  full.socket = {};
  full.emit('socket');
  vi.runAllTimers();
  expect(full.destroyed).toBe(true);

  const { full: prompt, stream: taken } = response();
  prompt.socket = {};
  taken.end('summary', {});
  prompt.emit('close');
  vi.runAllTimers();
  expect(prompt.destroyed).toBe(false);
  vi.useRealTimers();
});

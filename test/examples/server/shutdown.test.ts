// Owns the end of a server: what its clients still hear, that it does end, and with which exit code.
// Refuses to build what it starts: that is the test command's first step.

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it, vi } from 'vitest';
import type { LoadedModel } from '../../../examples/server/engine.js';
import { askWithoutReading, connectTo, eventsOf, loadHostile, post, rawRequest, start, until } from './fake.js';

vi.setConfig({ testTimeout: 60_000 });

const at = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
const MAIN = at('dist-examples/server/main.js');
if (!existsSync(MAIN))
  throw new Error('dist-examples/server/main.js is missing: build the examples before their tests');

const children = new Set<ChildProcess>();
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

interface Program {
  readonly child: ChildProcess;
  /** Resolves to the first line of its output, '' when there is none. */
  readonly address: Promise<string>;
  readonly ended: Promise<{ code: number | null; signal: string | null; stdout: string; stderr: string }>;
}

function run(...args: readonly string[]): Program {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  children.add(child);
  let stdout = '';
  let stderr = '';
  const address = new Promise<string>((resolve) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      if (stdout.includes('\n')) resolve(stdout.split('\n')[0]!);
    });
    child.on('close', () => resolve(''));
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const ended = new Promise<Awaited<Program['ended']>>((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  return { child, address, ended };
}

describe('the program', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('ends a stream at %s, then itself, with 0', async (signal) => {
    const { child, address, ended } = run('--port', '0', 'one=test/fixtures/none', at('examples/models/kjv-llama'));
    const url = await address;
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const ready = async () => (await (await fetch(`${url}/health`)).text()).includes('"kjv-llama","state":"ready"');
    await until(ready);
    const failed = await post(url, { prompt: 'And', model: 'one' });
    expect(failed.status).toBe(503);
    await failed.text();
    const response = await post(url, { prompt: 'And', model: 'kjv-llama', maxTokens: 6 });
    const reader = response.body!.getReader();
    await reader.read();
    child.kill(signal);
    // It was given its time: what had begun comes to its own end.
    let rest = '';
    for (let step = await reader.read(); !step.done; step = await reader.read())
      rest += new TextDecoder().decode(step.value);
    expect(rest).toContain('event: summary');
    const { code, stderr } = await ended;
    expect(code).toBe(0);
    expect(stderr).toMatch(new RegExp(`^model one: Error: ENOENT[\\s\\S]*${signal}: shutting down\nclosed\n$`));
  });

  it('goes on when nobody reads its log any more', async () => {
    const { child, address, ended } = run('--port', '0', 'one=test/fixtures/none');
    child.stderr!.destroy();
    const url = await address;
    await until(async () => (await (await fetch(`${url}/health`)).text()).includes('failed'));
    child.kill('SIGTERM');
    expect((await ended).code).toBe(0);
  });

  it('says what it does not understand, with 2, and why it cannot begin, with 1', async () => {
    const [usage, taken] = [run('--port', '70000', 'a'), run('--host', '203.0.113.1', '--port', '0', 'a')];
    const message = expect.stringMatching(/^--port is 70000, not 0 to 65535\n\nusage: /);
    expect(await usage.ended).toEqual({ code: 2, signal: null, stdout: '', stderr: message });
    expect(await taken.ended).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('EADDRNOTAVAIL') });
  });
});

describe('close', () => {
  it('ends streams that go on after the time of grace, with an event that says why', async () => {
    const { address, server, counts } = await start({ tokens: 1_000_000 });
    const response = await post(address, { prompt: 'pace:5', maxTokens: 1_000_000 });
    const closed = server.close();
    const events = await eventsOf(response);
    expect(events.at(-1)).toMatchObject({ event: 'error', data: { error: { code: 'SHUTTING_DOWN' } } });
    await closed;
    expect(counts.left).toBe(1);
    await expect(fetch(address)).rejects.toThrow();
  });

  it('answers 503 on connections that are still open, and takes no new ones', async () => {
    const { address, server } = await start({ tokens: 1_000_000, graceSeconds: 0.5 });
    const stream = await post(address, { prompt: 'pace:5', maxTokens: 1_000_000 });
    // A request of which the half has come is not idle. By the time another is answered, that half has been read.
    const socket = connectTo(address);
    const answer = socket.toArray();
    await new Promise<void>((resolve) => socket.write('GET /health HTTP/1.1\r\n', () => resolve()));
    await (await fetch(`${address}/health`)).text();
    const closed = server.close();
    socket.write('host: localhost\r\n\r\n');
    const text = (await answer).join('');
    expect(text).toMatch(/^HTTP\/1.1 503 /);
    expect(text).toMatch(/\r\nconnection: close\r\n/i);
    expect(text).toContain('"SHUTTING_DOWN"');
    await expect(fetch(`${address}/health`)).rejects.toThrow();
    await stream.text();
    await closed;
  });

  it('begins no generation whose body comes later', async () => {
    const { address, server, counts } = await start();
    const socket = connectTo(address);
    const whole = rawRequest({ prompt: 'a' });
    const answer = socket.toArray();
    await new Promise<void>((resolve) => socket.write(whole.slice(0, -3), () => resolve()));
    await (await fetch(`${address}/health`)).text();
    const closed = server.close();
    socket.write(whole.slice(-3));
    expect((await answer).join('')).toMatch(/^HTTP\/1.1 503 [\s\S]*"SHUTTING_DOWN"/);
    await closed;
    expect(counts.begun).toBe(0);
  });

  it('closes a model that is still being opened', async () => {
    let open = () => {};
    const opening = new Promise<void>((resolve) => {
      open = resolve;
    });
    const opened: LoadedModel[] = [];
    const { server } = await start(
      {},
      async (directory) => {
        await opening;
        const model = await loadHostile(directory);
        opened.push(model);
        return model;
      },
      false,
    );
    const closed = server.close();
    open();
    await closed;
    expect(opened.map(({ weights }) => weights.closed)).toEqual([true, true]);
  });

  it('is the same when asked twice, and does not wait for a client that does not read', async () => {
    const { address, server, counts } = await start({ tokens: 1_000_000 });
    const socket = askWithoutReading(address, { prompt: 'flood', maxTokens: 1_000_000 });
    await until(async () => counts.begun === 1);
    const closed = server.close();
    expect(server.close()).toBe(closed);
    await closed;
    expect(counts.left).toBe(1);
    socket.destroy();
  });
});

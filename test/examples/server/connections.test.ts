// Owns what a connection can do: end too early, bring requests in a row, bring half of one or none.
// Refuses what is in a request: that is tested beside it.

import { describe, expect, it } from 'vitest';
import { connectTo, metric, post, rawRequest, start, until } from './fake.js';

const { address, atRest, counts } = await start({ generations: 2, tokens: 1_000_000 });

describe('a client that leaves', () => {
  it.each([
    ['between two tokens', 'pace:5'],
    ['before the first token', 'pace:100000'],
  ])('%s ends its generation', async (_, prompt) => {
    const before = await metric(address, 'generations_total{model="first",outcome="disconnected"}');
    const gone = new AbortController();
    const begun = counts.begun;
    const response = post(address, { prompt, maxTokens: 1_000_000 }, { signal: gone.signal });
    response.catch(() => {});
    await until(async () => counts.begun > begun);
    if (prompt === 'pace:5') await response;
    gone.abort();
    await until(atRest);
    expect(await metric(address, 'generations_total{model="first",outcome="disconnected"}')).toBe(before + 1);
    expect((await post(address, { prompt: 'still there', maxTokens: 1 })).status).toBe(200);
  });

  it('in the midst of its own body leaves the server as it was', async () => {
    const socket = connectTo(address);
    const head =
      'POST /generate HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n';
    await new Promise<void>((resolve) => socket.write(`${head}{"prompt":`, () => resolve()));
    socket.destroy();
    await until(atRest);
    expect((await post(address, { prompt: 'still there', maxTokens: 1 })).status).toBe(200);
  });
});

describe('requests one behind the other on a connection', () => {
  it('are refused when too many are not answered yet, and answered again afterwards', async () => {
    const socket = connectTo(address);
    let got = '';
    socket.on('data', (text: string) => {
      got += text;
    });
    const statuses = () => [...got.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
    const some = 'GET /page/units.js HTTP/1.1\r\nhost: localhost\r\n\r\n';
    for (let round = 1; round <= 3; round++) {
      socket.write(some.repeat(10));
      await until(async () => statuses().length === round * 10);
    }
    const round = [200, 200, 200, 200, 200, 200, 200, 200, 429, 429];
    expect(statuses()).toEqual([...round, ...round, ...round]);
    socket.destroy();
  });

  it('all end when the client leaves, also those whose answer has not begun', async () => {
    const begun = counts.begun;
    const socket = connectTo(address);
    socket.write(rawRequest({ prompt: 'pace:5', maxTokens: 1_000_000 }).repeat(2));
    await until(async () => counts.begun === begun + 2);
    socket.destroy();
    await until(atRest);
  });

  it('get their answers in turn, and one that is no HTTP cuts the answer that is under way, but writes nothing into it', async () => {
    const socket = connectTo(address);
    let got = '';
    socket.on('data', (text: string) => {
      got += text;
      if (got.includes('word3')) socket.write('nonsense\r\n\r\n');
    });
    const closed = new Promise((resolve) => socket.on('close', resolve));
    socket.write(rawRequest({ prompt: 'a', maxTokens: 1 }) + rawRequest({ prompt: 'pace:5', maxTokens: 1_000_000 }));
    await closed;
    expect(got.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200']);
    expect(got).toMatch(/event: summary[\s\S]*word0[\s\S]*word3/);
    await until(atRest);
  });
});

it('a body that does not come is not waited for', async () => {
  const hasty = await start({ requestSeconds: 0.2 });
  const socket = connectTo(hasty.address);
  socket.write(rawRequest({ prompt: 'a' }).slice(0, -3));
  const text = (await socket.toArray()).join('');
  expect(text).toMatch(/^HTTP\/1\.1 408 [\s\S]*"REQUEST_TIMEOUT"/);
  expect(hasty.counts.begun).toBe(0);
});

it('what is no HTTP is answered, and its connection closed', async () => {
  const answer = (text: string) =>
    new Promise<string>((resolve, reject) => {
      const socket = connectTo(address);
      let all = '';
      socket.on('data', (more: string) => {
        all += more;
      });
      socket.on('error', reject).on('close', () => resolve(all));
      socket.write(text);
    });
  expect(await answer('hello\r\n\r\n')).toMatch(/^HTTP\/1.1 400 [\s\S]*"INVALID_REQUEST"/);
  expect(await answer(`GET / HTTP/1.1\r\nlong: ${'x'.repeat(20_000)}\r\n`)).toMatch(
    /^HTTP\/1.1 431 [\s\S]*"HEADERS_TOO_LARGE"/,
  );
});

// Owns POST /generate: its events and its refusals.
// Refuses a real model: the words are a fake's.

import { describe, expect, it } from 'vitest';
import { askWithoutReading, eventsOf, metric, post, start, until } from './fake.js';

const DEPTH = 10_000;

const { address, atRest, counts, lines } = await start({
  generations: 2,
  tokens: 1_000_000,
  promptLength: 50,
  bodyBytes: 3 * DEPTH,
});

/** Nested deeper than JSON.stringify follows; JSON.parse does. */
const deep = '['.repeat(DEPTH) + ']'.repeat(DEPTH);

async function refusal(response: Response): Promise<{ status: number; code: string; message: string }> {
  const { error } = (await response.json()) as { error: { code: string; message: string } };
  return { status: response.status, ...error };
}

describe('a generation', () => {
  it('is token events, then one summary', async () => {
    const response = await post(address, {
      prompt: 'a',
      maxTokens: 3,
      temperature: 0.5,
      topK: 5,
      seed: 7,
      model: 'second',
    });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    const events = await eventsOf(response);
    expect(events.map(({ event }) => event)).toEqual(['token', 'token', 'token', 'summary']);
    expect(events[1]!.data).toEqual({ token: 1, text: ' word1\n' });
    expect(events[3]!.data).toMatchObject({ model: 'second', tokens: 3, reason: 'length', seed: 7 });
    await until(atRest);
    expect(await metric(address, 'generated_tokens_total{model="second"}')).toBe(3);
    expect(await metric(address, 'generations_total{model="second",outcome="complete"}')).toBe(1);
  });

  it('sends its first event before the last exists', async () => {
    const response = await post(address, { prompt: 'pace:20', maxTokens: 1_000_000 });
    const reader = response.body!.getReader();
    expect(new TextDecoder().decode((await reader.read()).value)).toContain('word0');
    await reader.cancel();
    await until(atRest);
  });

  it('that fails before its first token is a status without the reason, which the operator hears', async () => {
    const found = await refusal(await post(address, { prompt: 'fail' }));
    expect(found).toEqual({ status: 500, code: 'INTERNAL', message: 'the server made a mistake' });
    // Once.
    expect(lines.filter((line) => line.includes('a secret of the operator'))).toHaveLength(1);
    await until(atRest);
  });

  it('that fails later ends with an error event', async () => {
    const events = await eventsOf(await post(address, { prompt: 'fail later', maxTokens: 9 }));
    expect(events.map(({ event }) => event)).toEqual(['token', 'token', 'error']);
    expect(events[2]!.data).toEqual({ error: { code: 'INTERNAL', message: 'the server made a mistake' } });
    await until(atRest);
  });
});

describe('limits', () => {
  it('refuse one generation too many at once, and only as long as there are that many', async () => {
    const gone = new AbortController();
    const busy = [1, 2].map(() => post(address, { prompt: 'pace:20', maxTokens: 100_000 }, { signal: gone.signal }));
    await Promise.all(busy);
    const refused = await post(address, { prompt: 'a' });
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(await refusal(refused)).toEqual({
      status: 429,
      code: 'TOO_MANY_REQUESTS',
      message: '2 generations are under way, the most that run at once',
    });
    expect(await metric(address, 'generations_active')).toBe(2);
    gone.abort();
    await until(atRest);
    expect((await post(address, { prompt: 'a', maxTokens: 1 })).status).toBe(200);
  });

  it('free the place of a client that does not read', async () => {
    const slow = await start({ generationSeconds: 0.5, tokens: 1_000_000 });
    const socket = askWithoutReading(slow.address, { prompt: 'flood', maxTokens: 1_000_000 });
    await until(async () => slow.counts.begun === 1);
    await until(async () => slow.counts.left === 1 && (await metric(slow.address, 'generations_active')) === 0);
    expect(await metric(slow.address, 'generations_total{model="first",outcome="cut"}')).toBe(1);
    // It wrote what fits between the two, not all that it had.
    expect(await metric(slow.address, 'generated_tokens_total{model="first"}')).toBeLessThan(40);
    socket.destroy();
  });

  it('say in the stream that the time is over', async () => {
    const short = await start({ generationSeconds: 0.1, tokens: 1_000_000 });
    const events = await eventsOf(await post(short.address, { prompt: 'pace:5', maxTokens: 1_000_000 }));
    expect(events.at(-1)).toMatchObject({ event: 'error', data: { error: { code: 'TOO_LONG' } } });
  });
});

describe('a request that is wrong', () => {
  it.each<[string, unknown, number, string, RegExp]>([
    ['no JSON', '{"prompt": "a"', 400, 'INVALID_JSON', /^the body is not JSON/],
    ['nothing', '', 400, 'INVALID_JSON', /^the body is empty/],
    ['a list', [], 400, 'INVALID_REQUEST', /^the body is a JSON object/],
    ['null', 'null', 400, 'INVALID_REQUEST', /^the body is a JSON object/],
    ['no prompt', {}, 400, 'INVALID_REQUEST', /^prompt is missing, not a string/],
    ['a prompt that is a number', { prompt: 7 }, 400, 'INVALID_REQUEST', /^prompt is 7, not a string/],
    [
      'a long prompt',
      { prompt: 'a'.repeat(51) },
      400,
      'PROMPT_TOO_LONG',
      /^the prompt has 51 characters; 50 are allowed/,
    ],
    [
      'tokens as a string',
      { prompt: '', maxTokens: '5' },
      400,
      'INVALID_REQUEST',
      /^maxTokens is "5", not a whole number from 1 to 1000000/,
    ],
    ['too many tokens', { prompt: '', maxTokens: 1_000_001 }, 400, 'INVALID_REQUEST', /^maxTokens is 1000001/],
    ['half a token', { prompt: '', maxTokens: 0.5 }, 400, 'INVALID_REQUEST', /^maxTokens is 0.5/],
    [
      'a cold temperature',
      { prompt: '', temperature: -1 },
      400,
      'INVALID_REQUEST',
      /^temperature is -1, not a number from 0 to 5/,
    ],
    ['an endless number', '{"prompt":"","maxTokens":1e999}', 400, 'INVALID_REQUEST', /^maxTokens is Infinity, not/],
    ['a deep array', `{"prompt":${deep}}`, 400, 'INVALID_REQUEST', /^prompt is an array, not a string/],
    ['a prototype', '{"prompt":"","__proto__":{"seed":1}}', 400, 'INVALID_REQUEST', /^there is no field "__proto__";/],
    ['null for a seed', { prompt: '', seed: null }, 400, 'INVALID_REQUEST', /^seed is null/],
    [
      'a field that is misspelt',
      { prompt: '', max_tokens: 5 },
      400,
      'INVALID_REQUEST',
      /^there is no field "max_tokens"; there are model, /,
    ],
    ['a model that is a number', { prompt: '', model: 1 }, 400, 'INVALID_REQUEST', /^model is 1, not a string/],
    [
      'an unknown model',
      { prompt: '', model: 'third' },
      404,
      'MODEL_NOT_FOUND',
      /^there is no model "third"; there are "first", "second"/,
    ],
    ['a huge body', { prompt: 'a'.repeat(3 * DEPTH) }, 413, 'BODY_TOO_LARGE', /^the body is too long/],
  ])('%s is refused', async (_, body, status, code, message) => {
    const begun = counts.begun;
    expect(await refusal(await post(address, body))).toEqual({ status, code, message: expect.stringMatching(message) });
    expect(counts.begun).toBe(begun);
  });

  it.each([
    ['text/plain', 415],
    ['application/x-www-form-urlencoded', 415],
    ['application/json-patch+json', 415],
    ['', 415],
  ])('a body of type %j is refused', async (type, status) => {
    const found = await refusal(await post(address, '{"prompt":"a"}', { headers: { 'content-type': type } }));
    expect(found).toMatchObject({ status, code: 'UNSUPPORTED_MEDIA_TYPE' });
  });

  it('for a model that could not be opened says so, without its path', async () => {
    const failed = await start({}, () => Promise.reject(new Error('/secret/path is missing')));
    const found = await refusal(await post(failed.address, { prompt: 'a' }));
    expect(found).toMatchObject({ status: 503, code: 'MODEL_FAILED' });
    expect(found.message).not.toContain('secret');
    expect(failed.lines).toContain('model first: Error: /secret/path is missing');
  });

  it('for a model that is being opened may be asked again', async () => {
    let open = () => {};
    const opening = new Promise<void>((resolve) => {
      open = resolve;
    });
    const late = await start(
      {},
      async () => {
        await opening;
        throw new Error('never mind');
      },
      false,
    );
    const response = await post(late.address, { prompt: 'a' });
    expect(response.headers.get('retry-after')).toBe('1');
    expect(await refusal(response)).toMatchObject({ status: 503, code: 'MODEL_OPENING' });
    expect(await (await fetch(`${late.address}/models`)).json()).toMatchObject({
      models: [{ state: 'opening', tensors: [] }, {}],
    });
    open();
  });
});

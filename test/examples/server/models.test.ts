// Owns what the server tells of its models, and who may ask. Refuses the histogram's arithmetic, which is tested beside it.

import { request } from 'node:http';
import { describe, expect, it, vi } from 'vitest';
import { HOSTILE_NAMES, loadHostile, start, until } from './fake.js';

const { address, server } = await start();

async function get(path: string, init?: RequestInit): Promise<{ status: number; body: unknown }> {
  const response = await fetch(address + path, init);
  return { status: response.status, body: await response.json() };
}

const refused = (status: number, code: string) => ({ status, body: { error: { code, message: expect.any(String) } } });

/** With a Host header, which fetch does not allow. */
function statusFor(path: string, headers: Record<string, string>, method = 'GET'): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const asked = request(address + path, { method, headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    asked.on('error', reject).end();
  });
}

describe('GET /models', () => {
  it('tells of each model its state, its memory and its tensors', async () => {
    const { models } = (await get('/models')).body as { models: Record<string, unknown>[] };
    expect(models.map(({ name }) => name)).toEqual(['first', 'second']);
    const bytes = 4096 * 4 + 6 * 4 + 2 * 4 + 8;
    expect(models[0]).toMatchObject({
      state: 'ready',
      prefetch: { doneBytes: bytes, totalBytes: bytes },
      residentBytes: bytes,
      mappedBytes: expect.any(Number),
    });
    expect(models[0]!.mappedBytes).toBeGreaterThan(bytes);
    expect(models[0]!.tensors).toHaveLength(5);
    expect(models[0]!.tensors).toContainEqual({
      name: 'model.embed.weight',
      dtype: 'F32',
      shape: [64, 64],
      byteLength: 16384,
    });
    expect((await get('/models/first')).body).toEqual(models[0]);
    expect(await get('/models/third')).toEqual(refused(404, 'MODEL_NOT_FOUND'));
  });

  it('tells what is in memory, tensor by tensor in the same order', async () => {
    const { tensors } = (await get('/models/first')).body as { tensors: { byteLength: number }[] };
    const { body } = await get('/models/first/residency');
    const lengths = tensors.map(({ byteLength }) => byteLength);
    expect(body).toMatchObject({ state: 'ready', tensors: lengths });
  });
});

describe('POST /models/:name/…', () => {
  it('evict and prefetch take the weights out of memory and back', async () => {
    // The file is mapped once for each model, and a page that is mapped elsewhere stays: both are given back.
    for (const name of ['first', 'second', 'first']) {
      expect(await get(`/models/${name}/evict`, { method: 'POST' })).toEqual({ status: 200, body: { state: 'ready' } });
    }
    const [first] = server.models;
    expect(await get('/models/first/prefetch', { method: 'POST' })).toEqual({
      status: 202,
      body: { state: 'loading' },
    });
    await until(async () => first!.state === 'ready');
    const { bytes, residentBytes } = (await get('/models/first/residency')).body as Record<string, number>;
    expect(residentBytes).toBe(bytes);
    expect(first!.prefetch.doneBytes).toBe(bytes);
  });

  it('evict once for all who ask at the same time', async () => {
    const [, second] = server.models;
    const evict = vi.spyOn(second!.require().weights, 'evict');
    await Promise.all([second!.evict(), second!.evict()]);
    // Each tensor, then what they share.
    expect(evict).toHaveBeenCalledTimes(6);
    await second!.evict();
    expect(evict).toHaveBeenCalledTimes(12);
    evict.mockRestore();
  });

  it('refuse what is under way already', async () => {
    const [first] = server.models;
    first!.beginPrefetch();
    expect(() => first!.beginPrefetch()).toThrow(expect.objectContaining({ status: 409, code: 'ALREADY_LOADING' }));
    await expect(first!.evict()).rejects.toMatchObject({ status: 409, code: 'ALREADY_LOADING' });
    await until(async () => first!.state === 'ready');
  });
});

describe('GET /models/:name/histogram', () => {
  const histogram = (name: string) => get(`/models/first/histogram?tensor=${encodeURIComponent(name)}`);

  it('counts values, also of a tensor with an odd name', async () => {
    const { status, body } = await histogram('model.embed.weight');
    expect({ status, body }).toMatchObject({ status: 200, body: { elements: 4096, min: 0, max: 4095, mean: 2047.5 } });
    expect(await histogram('odd/name": é')).toMatchObject({ status: 200, body: { elements: 0, bins: [], min: null } });
  });

  it('takes any name that fits into a request', async () => {
    const hostile = await start({}, loadHostile);
    for (const name of HOSTILE_NAMES.filter(({ length }) => length < 10_000)) {
      const url = `${hostile.address}/models/first/histogram?tensor=${encodeURIComponent(name)}`;
      expect(await (await fetch(url)).json(), name).toMatchObject({ elements: 1, min: 3 });
    }
  });

  it('refuses a tensor that is not there, and one without numbers', async () => {
    expect(await histogram('model.embed')).toEqual(refused(404, 'TENSOR_NOT_FOUND'));
    expect(await histogram('__proto__')).toEqual(refused(404, 'TENSOR_NOT_FOUND'));
    expect(await histogram('model.layers.2.weight')).toEqual(refused(422, 'INVALID_ARGUMENT'));
    expect(await get('/models/first/histogram')).toEqual(refused(400, 'INVALID_REQUEST'));
    expect(await get('/models/first/histogram?tensor=a&tensor=b')).toEqual(refused(400, 'INVALID_REQUEST'));
  });

  it('refuses more at once than are allowed', async () => {
    const none = await start({ histograms: 0 });
    const response = await fetch(`${none.address}/models/first/histogram?tensor=model.embed.weight`);
    expect(response.status).toBe(429);
    expect(response.headers.get('retry-after')).toBe('1');
  });
});

describe('a path', () => {
  it('that is known, with the wrong method, is 405 and names the right ones', async () => {
    const response = await fetch(`${address}/generate`, { method: 'PUT', body: 'x' });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
    expect((await fetch(`${address}/models`, { method: 'DELETE' })).headers.get('allow')).toBe('GET, HEAD');
    expect((await fetch(`${address}/models`, { method: 'HEAD' })).status).toBe(200);
  });

  it('that is not known is 404, whatever it looks like', async () => {
    for (const path of ['/none', '/page/', '/page/..%2f..%2fserver.ts', '/models/first/tensors']) {
      expect(await get(path)).toEqual(refused(404, 'NOT_FOUND'));
    }
    expect(await get('/%zz')).toMatchObject({ status: 400, body: { error: { code: 'INVALID_REQUEST' } } });
    expect((await get(`/${'a'.repeat(10_000)}`)).status).toBe(404);
    expect(await get(`/models/${'a'.repeat(10_000)}`)).toEqual(refused(404, 'NOT_FOUND'));
  });

  it('is not for pages of other sites', async () => {
    const { port } = new URL(address);
    expect(await statusFor('/health', { host: `evil.example:${port}` })).toBe(403);
    expect(await statusFor('/models/first/evict', { origin: 'https://evil.example' }, 'POST')).toBe(403);
    expect(await statusFor('/models/first/evict', { origin: 'null' }, 'POST')).toBe(403);
    expect(await statusFor('/health', { origin: address })).toBe(200);
    for (const host of [`localhost:${port}`, 'LOCALHOST', '127.1.2.3', `[::1]:${port}`]) {
      expect(await statusFor('/health', { host }), host).toBe(200);
    }
    for (const host of ['127.0.0.1.evil.example', '127.evil.example', 'localhost:1:2']) {
      expect(await statusFor('/health', { host }), host).toBe(403);
    }
  });
});

it('GET /health names the models and their states', async () => {
  const models = [
    { name: 'first', state: 'ready' },
    { name: 'second', state: 'ready' },
  ];
  expect(await get('/health')).toEqual({ status: 200, body: { status: 'ok', models } });
});

it('GET / is a page that may load nothing from elsewhere', async () => {
  const page = await fetch(address);
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(page.headers.get('content-security-policy')).toMatch(
    /^default-src 'none'; script-src 'self'; style-src 'self';/,
  );
  expect(page.headers.get('x-content-type-options')).toBe('nosniff');
  const html = await page.text();
  const links = [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, link]) => link!);
  expect(links).toContain('/page/main.js');
  for (const link of links.filter((one) => one !== 'data:,')) {
    expect(link).toMatch(/^\/page\//);
    expect((await fetch(address + link)).status).toBe(200);
  }
});

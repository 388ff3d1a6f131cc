// Owns /metrics: that it is what Prometheus reads, and that its numbers are those of the server.
// Refuses to judge how late the event loop is.

import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { exposition } from '../../../examples/server/exposition.js';
import { DELAY_BOUNDS, LoopDelay } from '../../../examples/server/loop-delay.js';
import { post, start } from './fake.js';

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Reads the text form strictly, by the rules of its version 0.0.4. */
function read(text: string): { types: Map<string, string>; samples: Sample[] } {
  expect(text.endsWith('\n')).toBe(true);
  const types = new Map<string, string>();
  const samples: Sample[] = [];
  let metric = '';
  for (const line of text.slice(0, -1).split('\n')) {
    const comment = /^# (HELP|TYPE) ([a-zA-Z_:][\w:]*) (.+)$/.exec(line);
    if (comment !== null) {
      metric = comment[2]!;
      if (comment[1] === 'TYPE') types.set(metric, comment[3]!);
      continue;
    }
    const sample =
      /^([a-zA-Z_:][\w:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\]|\\["\\n])*",?)+)\})? (-?[\d.]+(?:e[+-]?\d+)?|NaN|[+-]Inf)$/.exec(
        line,
      );
    if (sample === null) throw new Error(`not a sample: ${line}`);
    // Samples stand below the metric that they belong to.
    expect(sample[1]!.replace(/_(bucket|sum|count)$/, '')).toBe(metric);
    const labels = [...(sample[2] ?? '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
    samples.push({
      name: sample[1]!,
      labels: Object.fromEntries(labels.map(([, name, value]) => [name, value])) as Record<string, string>,
      value: Number(sample[3]!.replace('Inf', 'Infinity')),
    });
  }
  return { types, samples };
}

describe('GET /metrics', async () => {
  const { address } = await start();
  await (await post(address, { prompt: 'a', maxTokens: 3 })).text();
  await post(address, '{');
  await fetch(`${address}/no/such/path`);
  await sleep(30);
  const response = await fetch(`${address}/metrics`);
  const { types, samples } = read(await response.text());
  const numberAt = (name: string, labels: Record<string, string> = {}) =>
    samples.find(
      (one) => one.name === name && Object.entries(labels).every(([key, value]) => one.labels[key] === value),
    )?.value;

  it('is the text form, every metric with its type', () => {
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(Object.fromEntries(types)).toMatchObject({
      http_requests_total: 'counter',
      generated_tokens_total: 'counter',
      generations_active: 'gauge',
      model_mapped_bytes: 'gauge',
      model_resident_bytes: 'gauge',
      event_loop_delay_seconds: 'histogram',
      process_resident_memory_bytes: 'gauge',
    });
  });

  it('counts answers by route, tokens and generations', () => {
    expect(numberAt('http_requests_total', { route: '/generate', method: 'POST', status: '200' })).toBe(1);
    expect(numberAt('http_requests_total', { route: '/generate', method: 'POST', status: '400' })).toBe(1);
    expect(numberAt('http_requests_total', { route: 'none', status: '404' })).toBe(1);
    expect(numberAt('generated_tokens_total', { model: 'first' })).toBe(3);
    expect(numberAt('generations_total', { model: 'first', outcome: 'complete' })).toBe(1);
    expect(numberAt('generations_active')).toBe(0);
  });

  it('tells memory', () => {
    expect(numberAt('model_ready', { model: 'second' })).toBe(1);
    expect(numberAt('model_mapped_bytes', { model: 'second' })).toBeGreaterThan(16_000);
    expect(numberAt('model_resident_bytes', { model: 'second' })).toBe(16_424);
    expect(numberAt('process_resident_memory_bytes')).toBeGreaterThan(1e7);
  });

  it('has buckets that grow, up to the count', () => {
    const buckets = samples.filter(({ name }) => name === 'event_loop_delay_seconds_bucket');
    expect(buckets.map(({ labels }) => labels.le)).toEqual([...DELAY_BOUNDS.map(String), '+Inf']);
    const values = buckets.map(({ value }) => value);
    expect(values).toEqual([...values].sort((a, b) => a - b));
    expect(values.at(-1)).toBe(numberAt('event_loop_delay_seconds_count'));
    expect(values.at(-1)).toBeGreaterThan(0);
  });
});

it('labels and numbers are written as the format asks', () => {
  const labels = { model: 'a"b\\c\nd', other: '' };
  const samples = [{ labels, value: 1.5e-7 }, { value: Infinity }, { suffix: '_sum', value: Number.NaN }];
  const text = exposition([{ name: 'm', help: 'h', type: 'gauge', samples }]);
  expect(text).toBe('# HELP m h\n# TYPE m gauge\nm{model="a\\"b\\\\c\\nd",other=""} 1.5e-7\nm +Inf\nm_sum NaN\n');
  expect(read(text).samples).toHaveLength(3);
});

it('a block of the event loop is in the bucket where it belongs', async () => {
  const delay = new LoopDelay();
  await sleep(50);
  const before = delay.read();
  const end = performance.now() + 250;
  while (performance.now() < end);
  await sleep(50);
  const after = delay.read();
  delay.stop();
  const longer = (reading: typeof after) => reading.count - reading.buckets[DELAY_BOUNDS.indexOf(0.2)]!;
  expect(longer(after)).toBeGreaterThanOrEqual(longer(before) + 1);
  expect(after.sum - before.sum).toBeGreaterThan(0.2);
  expect(after.count).toBeGreaterThan(before.count);
});

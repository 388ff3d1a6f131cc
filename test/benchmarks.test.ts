// Owns the arithmetic of the benchmarks, and that README.md, docs/benchmarks.md and the charts say what a result says.
// Refuses to measure anything.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

import { compareAnswers, judge } from '../benchmarks/harness/race.mjs';
import { median, quantile, randomFrom, ratioOfPairs, shuffled, summarize } from '../benchmarks/harness/statistics.mjs';
import { derived, results } from '../benchmarks/publish.mjs';
import { agreement } from '../benchmarks/report/agreement.mjs';
import { draw } from '../benchmarks/report/chart.mjs';
import { between, newest } from '../benchmarks/report/tables.mjs';
import { quantity, short } from '../benchmarks/report/words.mjs';

const published = newest(results());
const root = new URL('../', import.meta.url);

describe('statistics', () => {
  it('takes the middle of an odd count, and half way between two of an even one', () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(() => median([])).toThrow(RangeError);
  });

  it('interpolates quartiles', () => {
    expect(summarize([5, 1, 4, 2, 3])).toEqual({ median: 3, min: 1, q1: 2, q3: 4 });
    expect(quantile([0, 10], 0.25)).toBe(2.5);
  });

  it('takes the median of the ratios of pairs, not the ratio of medians or of the fastest', () => {
    const ours = [1, 20, 300];
    const theirs = [10, 10, 100];
    expect(ratioOfPairs(ours, theirs)).toEqual({ median: 2, min: 0.1, q1: 1.05, q3: 2.5, pairs: 3 });
  });

  it('leaves a round out that one side does not have', () => {
    expect(ratioOfPairs([2, 2, 2], [1, 1])).toMatchObject({ median: 2, pairs: 2 });
  });

  it('shuffles by the seed, and loses nothing', () => {
    const items = Array.from({ length: 20 }, (_, i) => i);
    const once = shuffled(items, randomFrom(7));
    expect(once).toEqual(shuffled(items, randomFrom(7)));
    expect(once).not.toEqual(shuffled(items, randomFrom(8)));
    expect(once.toSorted((a, b) => a - b)).toEqual(items);
  });
});

function entry(name: string, samples: number[], checksum = 1) {
  return { name, status: 'ok' as const, samples, extra: { ms: samples }, checksums: samples.map(() => checksum) };
}

describe('a race', () => {
  it('fails who answers otherwise than most, and who changes the answer', () => {
    const entries: Parameters<typeof compareAnswers>[0] = [
      entry('a', [1, 1]),
      entry('b', [1, 1]),
      entry('fast and wrong', [0.1, 0.1], 2),
      { ...entry('fickle', [1, 1]), checksums: [1, 2] },
    ];
    compareAnswers(entries);
    expect(entries.map(({ status }) => status)).toEqual(['ok', 'ok', 'failed', 'failed']);
  });

  it('fails both when two disagree, since nobody knows who is right', () => {
    const entries: Parameters<typeof compareAnswers>[0] = [entry('a', [1], 1), entry('b', [1], 2)];
    compareAnswers(entries);
    expect(entries.map(({ status }) => status)).toEqual(['failed', 'failed']);
  });

  it('judges times, speeds, the fastest of several, and values', () => {
    const entries = [entry('ours', [2, 2]), entry('slow', [8, 8]), entry('quick', [1, 1])];
    const goal = { text: '', subject: 'ours' };
    expect(judge({ ...goal, against: 'slow', atMost: 0.2 }, entries)).toMatchObject({ median: 0.25, met: false });
    expect(judge({ ...goal, against: 'slow', rate: true, atLeast: 4 }, entries)).toMatchObject({
      median: 4,
      met: true,
    });
    const best = judge({ ...goal, against: ['slow', 'quick'], rate: true, atLeast: 0.9 }, entries);
    expect(best).toMatchObject({ against: 'quick', median: 0.5, met: false });
    expect(judge({ ...goal, field: 'ms', atMost: 2 }, entries)).toMatchObject({ median: 2, met: true });
  });

  it('calls a goal neither met nor missed when a side was not measured', () => {
    const goal = { text: '', subject: 'ours', against: 'absent', atMost: 1 };
    expect(judge(goal, [entry('ours', [1])])).toMatchObject({ met: null });
    expect(judge({ ...goal, subject: 'absent' }, [entry('ours', [1])])).toMatchObject({ met: null });
  });
});

describe('words', () => {
  it.each([
    [0, '0'],
    [0.01234, '0.012'],
    [1.2345, '1.23'],
    [12.345, '12.3'],
    [123.45, '123'],
    [12345.6, '12,346'],
  ])('writes %d as %s', (value, text) => expect(short(value)).toBe(text));

  it('chooses the unit of a time', () => {
    expect([12, 1200, 3.5e6, 2e9].map((ns) => quantity(ns, 'ns'))).toEqual(['12.0 ns', '1.20 µs', '3.50 ms', '2.00 s']);
  });

  it('replaces only what stands between the markers', () => {
    const text = 'a\n<!-- bench: x -->\nold\n<!-- end of x -->\nb';
    expect(between(text, 'x', 'new')).toBe('a\n<!-- bench: x -->\n\nnew\n\n<!-- end of x -->\nb');
    expect(() => between('', 'x', '')).toThrow('"x"');
  });
});

describe('two runs', () => {
  const run = (median: number, spread: number) => {
    const goal = {
      text: 'x',
      subject: '',
      headline: false,
      met: true,
      median,
      q1: median - spread,
      q3: median + spread,
    };
    return { cases: [{ races: [{ goals: [goal] }] }] } as unknown as Parameters<typeof agreement>[0];
  };

  it('are compared by their ratios, and by whether their quartiles overlap', () => {
    const [far] = agreement(run(2, 0.1), run(1, 0.1));
    expect(far).toEqual({ text: 'x', one: 2, other: 1, apart: 1, overlap: false });
    expect(agreement(run(1, 0.1), run(1.1, 0.1))[0]).toMatchObject({ apart: expect.closeTo(0.1), overlap: true });
    expect(agreement(run(1, 0), { ...run(1, 0), cases: [] })).toEqual([]);
  });
});

describe('the published result', () => {
  it('is a full run when there is one, else the newest', () => {
    const all = results();
    expect(published).toBeDefined();
    if (all.some(({ mode }) => mode === 'full')) expect(published?.mode).toBe('full');
  });

  it('names every case, and no machine', () => {
    expect(published?.cases.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    for (const result of results()) expect(JSON.stringify(result)).not.toMatch(/\/(?:home|root|tmp|usr|work|Users)\//);
  });

  it.each(Object.keys(derived(published!)))('is what %s shows', (name) => {
    // Anyone who fails here: node benchmarks/publish.mjs
    expect(readFileSync(new URL(name, root), 'utf8')).toBe(derived(published!)[name]);
  });

  it('is drawn for light and dark pages', () => {
    const [light, dark] = [draw(published!, 'light'), draw(published!, 'dark')];
    expect(light).not.toBe(dark);
    expect(light.match(/<rect /g)?.length).toBe(dark.match(/<rect /g)?.length);
  });
});

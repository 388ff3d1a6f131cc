// Owns the order of a prefetch over sources that are made up: steps, progress, abort, failure, sharing.
// Refuses mappings and disks; those are asked in test/lifetime/prefetch.test.ts.

import { describe, expect, it } from 'vitest';
import { type PrefetchOptions, prefetchOptions, prefetchParts } from '../src/prefetch.js';
import type { Source } from '../src/source.js';
import { STEP_BYTES } from '../src/steps.js';
import { errorOf } from './support/outcome.js';

/** A source whose steps end when they are let. */
class Stub {
  readonly calls: string[] = [];
  underWay = 0;
  most = 0;
  advised: readonly number[] | undefined;
  bringInWith: (ranges: readonly number[]) => Promise<void> = () => new Promise((resolve) => setImmediate(resolve));

  async bringIn(ranges: readonly number[]): Promise<void> {
    this.calls.push(ranges.map((position) => position / STEP_BYTES).join('-'));
    this.most = Math.max(this.most, ++this.underWay);
    try {
      await this.bringInWith(ranges);
    } finally {
      this.underWay--;
    }
  }

  async askForLargePages(ranges: readonly number[]): Promise<void> {
    this.advised = ranges;
  }

  prefetch(steps: number, options: PrefetchOptions = {}, from = 0): Promise<void> {
    const ranges = steps === 0 ? [] : [from * STEP_BYTES, (from + steps) * STEP_BYTES];
    const source = this as unknown as Source;
    return prefetchParts([{ path: '/models/x', fileSystem: undefined, ranges, open: () => source }], options);
  }
}

describe('progress', () => {
  it.each([1, 2, 64])('rises to the total, with %d threads', async (threads) => {
    const stub = new Stub();
    const seen: [number, number][] = [];
    await stub.prefetch(6, { threads, onProgress: (done, total) => seen.push([done, total]) });
    expect(seen).toEqual([1, 2, 3, 4, 5, 6].map((count) => [count * STEP_BYTES, 6 * STEP_BYTES]));
    expect(stub.calls).toEqual(['0-1', '1-2', '2-3', '3-4', '4-5', '5-6']);
    // A thread of Node's four is left to others.
    expect(stub.most).toBe(Math.min(threads, 3));
  });

  it('comes in shorter steps over a network', async () => {
    const stub = new Stub();
    const source = stub as unknown as Source;
    const fileSystem = { name: 'nfs', isNetwork: true };
    const part = { path: '/models/x', fileSystem, ranges: [5, STEP_BYTES], open: () => source };
    const seen: number[] = [];
    await prefetchParts([part], { threads: 1, onProgress: (done) => seen.push(done) });
    expect(seen).toEqual([1, 2].map((count) => (count * STEP_BYTES) / 2 - 5));
  });

  it('of nothing is nothing of nothing', async () => {
    const seen: [number, number][] = [];
    await new Stub().prefetch(0, { onProgress: (done, total) => seen.push([done, total]) });
    expect(seen).toEqual([[0, 0]]);
  });

  it('that throws ends it with what was thrown, and no step begins after', async () => {
    const stub = new Stub();
    const mine = new Error('mine');
    const fail = () => {
      throw mine;
    };
    expect(await errorOf(() => stub.prefetch(50, { onProgress: fail }))).toBe(mine);
    expect(stub.underWay).toBe(0);
    expect(stub.calls.length).toBeLessThanOrEqual(3);
  });
});

describe('several files', () => {
  /** Prefetches files of so many steps each; the order in which their steps began, and how many of one file were under way. */
  async function run(lengths: readonly number[], options: PrefetchOptions) {
    const order: string[] = [];
    const stubs = lengths.map(() => new Stub());
    const parts = lengths.map((steps, i) => {
      const stub = stubs[i]!;
      const wait = stub.bringInWith;
      stub.bringInWith = async (ranges) => {
        order.push(`${i}:${ranges[0]! / STEP_BYTES}`);
        await wait(ranges);
      };
      const ranges = steps === 0 ? [] : [0, steps * STEP_BYTES];
      return { path: `/models/${i}`, fileSystem: undefined, ranges, open: () => stub as unknown as Source };
    });
    await prefetchParts(parts, options);
    return { order, most: stubs.map(({ most }) => most) };
  }

  it('are taken one after the other by one lane', async () => {
    const { order } = await run([2, 0, 3], { threads: 1 });
    expect(order).toEqual(['0:0', '0:1', '2:0', '2:1', '2:2']);
  });

  it('are taken by two lanes where nothing is said, never both at one while another waits', async () => {
    const { order, most } = await run([4, 4, 4, 4], {});
    expect(order.toSorted()).toEqual([0, 1, 2, 3].flatMap((i) => [0, 1, 2, 3].map((k) => `${i}:${k}`)));
    expect(order.slice(0, 4).toSorted()).toEqual(['0:0', '0:1', '1:0', '1:1']);
    expect(most).toEqual([1, 1, 1, 1]);
  });

  it('end with all lanes at the last', async () => {
    const { most, order } = await run([1, 9], { threads: 3 });
    expect(order).toHaveLength(10);
    expect(most).toEqual([1, 3]);
  });
});

describe('progress that is a promise', () => {
  it('is waited for, and its rejection is that of the prefetch', async () => {
    const stub = new Stub();
    const mine = new Error('mine');
    let heard = 0;
    const onProgress = async () => {
      await new Promise((resolve) => setImmediate(resolve));
      if (++heard === 2) throw mine;
    };
    expect(await errorOf(() => stub.prefetch(50, { threads: 1, onProgress }))).toBe(mine);
    expect([heard, stub.calls.length]).toEqual([2, 2]);
    expect(await errorOf(() => stub.prefetch(0, { onProgress: () => Promise.reject(mine) }))).toBe(mine);
  });
});

describe('an abort', () => {
  it('before the start begins nothing', async () => {
    const stub = new Stub();
    const reason = { any: 'thing' };
    await expect(stub.prefetch(3, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(stub.calls).toEqual([]);
  });

  it('rejects at once, though a step hangs, and nothing is begun or reported after', async () => {
    const stub = new Stub();
    let letGo = () => {};
    stub.bringInWith = () => new Promise<void>((resolve) => (letGo = resolve));
    const controller = new AbortController();
    const seen: number[] = [];
    const prefetching = stub.prefetch(5, {
      signal: controller.signal,
      threads: 1,
      onProgress: (done) => seen.push(done),
    });
    while (stub.underWay === 0) await new Promise((resolve) => setImmediate(resolve));
    controller.abort('enough');
    await expect(prefetching).rejects.toBe('enough');
    expect(stub.underWay).toBe(1);
    letGo();
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect([stub.calls, seen]).toEqual([['0-1'], []]);
  });

  it('from within onProgress rejects with the reason', async () => {
    const stub = new Stub();
    const controller = new AbortController();
    const onProgress = () => controller.abort('enough');
    await expect(stub.prefetch(1, { signal: controller.signal, onProgress })).rejects.toBe('enough');
    const another = new AbortController();
    const ofNothing = stub.prefetch(0, { signal: another.signal, onProgress: () => another.abort('enough') });
    await expect(ofNothing).rejects.toBe('enough');
  });

  it('leaves no listener behind, however it ends', async () => {
    const { signal } = new AbortController();
    let listeners = 0;
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
    Object.assign(signal, {
      addEventListener: (...args: Parameters<typeof add>) => {
        listeners++;
        add(...args);
      },
      removeEventListener: (...args: Parameters<typeof remove>) => {
        listeners--;
        remove(...args);
      },
    });
    await new Stub().prefetch(2, { signal });
    const failing = new Stub();
    failing.bringInWith = () => Promise.reject(new Error('disk'));
    await errorOf(() => failing.prefetch(2, { signal }));
    expect(listeners).toBe(0);
  });
});

describe('a failure', () => {
  it('of the system ends it, with the path, after all lanes have come to rest', async () => {
    const stub = new Stub();
    stub.bringInWith = async ([begin]) => {
      await new Promise((resolve) => setTimeout(resolve, 2));
      if (begin === STEP_BYTES) throw Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO' });
    };
    const error = await errorOf(() => stub.prefetch(50, { threads: 3 }));
    expect(error).toMatchObject({ code: 'EIO', path: '/models/x' });
    expect(stub.underWay).toBe(0);
    expect(stub.calls.length).toBeLessThan(10);
  });

  it('while opening ends it as well', async () => {
    const open = () => Promise.reject(Object.assign(new Error('ENOENT'), { code: 'ENOENT' }));
    const parts = [{ path: '/models/y', fileSystem: undefined, ranges: [0, 9], open }];
    expect(await errorOf(() => prefetchParts(parts, {}))).toMatchObject({ code: 'ENOENT', path: '/models/y' });
  });
});

describe('several at once', () => {
  it('bring every step in once', async () => {
    const stub = new Stub();
    stub.bringInWith = () => new Promise((resolve) => setTimeout(resolve, 2));
    await Promise.all([stub.prefetch(8), stub.prefetch(8), stub.prefetch(3), stub.prefetch(4, { threads: 3 }, 2)]);
    // A step that is over when another prefetch comes to it costs a look at pages that are there.
    expect(new Set(stub.calls).size).toBe(8);
    expect(stub.calls.length).toBeLessThan(8 + 8 + 3 + 4);
    expect(stub.most).toBeLessThanOrEqual(3);
  });

  // Of so few bytes that nothing is asked before the step: both are at it in the same turn.
  const few = 2 ** -10;

  it('wait for the same step, and one goes on when another is aborted', async () => {
    const stub = new Stub();
    let letGo = () => {};
    stub.bringInWith = () => new Promise<void>((resolve) => (letGo = resolve));
    const controller = new AbortController();
    const first = stub.prefetch(few, { signal: controller.signal });
    const second = stub.prefetch(few);
    await new Promise((resolve) => setImmediate(resolve));
    controller.abort('enough');
    await expect(first).rejects.toBe('enough');
    letGo();
    await second;
    expect(stub.calls.length).toBe(1);
  });

  it('fail together where they wait for the same step', async () => {
    const stub = new Stub();
    stub.bringInWith = () => new Promise((_, reject) => setImmediate(reject, new Error('disk')));
    const runs = [stub.prefetch(few), stub.prefetch(few)];
    const errors = await Promise.all(runs.map((run) => errorOf(() => run)));
    expect(errors.map(String)).toEqual(['Error: disk', 'Error: disk']);
    expect(stub.calls.length).toBe(1);
  });
});

describe('large pages', () => {
  it('are asked for before the first step, once, where the memory suffices', async () => {
    const stub = new Stub();
    stub.bringInWith = async () => expect(stub.advised).toEqual([0, STEP_BYTES * 2]);
    await stub.prefetch(2);
    expect(stub.advised).toBeDefined();
  });

  it('are not asked for by more than fits', async () => {
    const stub = new Stub();
    const controller = new AbortController();
    stub.bringInWith = async () => controller.abort(new Error('enough'));
    await errorOf(() => stub.prefetch(2 ** 22, { signal: controller.signal }));
    expect([stub.calls.length > 0, stub.advised]).toEqual([true, undefined]);
  });
});

describe('options', () => {
  it.each([
    null,
    7,
    { threads: 0 },
    { threads: 65 },
    { threads: 1.5 },
    { threads: '2' },
    { threads: Object.create(null) },
    { signal: {} },
    { signal: Object.create(AbortSignal.prototype) },
    { onProgress: 'log' },
  ])('refuse %j', async (options) => {
    expect(await errorOf(() => prefetchOptions(options as PrefetchOptions))).toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });
});

// Owns models of many shards and of many names: how many descriptors, and that size alone breaks nothing.
// Refuses to time anything.

import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { openModel } from '../src/index.js';
import { liveMappings } from '../src/mapping.js';
import { descriptorsIn, fileOf, scratch, withHeader } from './support/files.js';
import { failureOf } from './support/outcome.js';

const folder = scratch();
afterAll(() => folder.remove());

const SHARDS = 1000;
const shardName = (k: number) => `model-${k}.safetensors`;

/** A model of 1,000 shards with a tensor each. */
function manyShards(name: string): string {
  const weightMap: Record<string, string> = {};
  for (let k = 0; k < SHARDS; k++) {
    weightMap[`layer.${k}`] = shardName(k);
    folder.write(join(name, shardName(k)), fileOf([{ name: `layer.${k}`, dtype: 'U16', shape: [1] }]));
  }
  folder.write(join(name, 'model.safetensors.index.json'), JSON.stringify({ weight_map: weightMap }));
  return join(folder.path, name);
}

/** Most descriptors open at once below the folder until a promise settles. */
async function mostDescriptors(promise: Promise<unknown>): Promise<number> {
  let settled = false;
  const end = promise.then(
    () => {
      settled = true;
    },
    () => {
      settled = true;
    },
  );
  let most = 0;
  while (!settled) {
    most = Math.max(most, descriptorsIn(folder.path).length);
    await setImmediate();
  }
  await end;
  return most;
}

describe('a model of 1,000 shards', () => {
  const path = manyShards('many');

  it('opens with few descriptors, and keeps none', async () => {
    const opening = openModel(path);
    const most = await mostDescriptors(opening);
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(8);
    using model = await opening;
    expect(descriptorsIn(folder.path)).toEqual([]);
    expect(model.shards.map(({ file }) => file)).toEqual(Array.from({ length: SHARDS }, (_, k) => shardName(k)));
    const mappings = liveMappings();
    for (const { data } of model.values()) expect(data).toHaveLength(1);
    expect(liveMappings()).toBe(mappings + SHARDS);
    expect(descriptorsIn(folder.path)).toEqual([]);
  });

  it('reads nothing more once it has failed', async () => {
    folder.write(`many/${shardName(2)}`, 'damaged');
    const failure = await failureOf(() => openModel(path));
    expect(failure).toMatchObject({ code: 'HEADER_TOO_SMALL', path: join(path, shardName(2)) });
    expect(descriptorsIn(folder.path)).toEqual([]);
    await setImmediate();
    expect(descriptorsIn(folder.path)).toEqual([]);
  });
});

describe('a model of 200,000 tensors', () => {
  // More than there can be arguments to a call, some 120,000.
  const COUNT = 200_000;
  const nameOf = (k: number) => `e.${k}`;

  it('opens by its index, and finds the first, the last and none', { timeout: 120_000 }, async () => {
    const names = Array.from({ length: COUNT }, (_, k) => nameOf(k));
    folder.write(
      'wide/model.safetensors.index.json',
      `{"weight_map":{${names.map((name) => `"${name}":"model.safetensors"`).join(',')}}}`,
    );
    const entries = names.map((name) => `"${name}":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}`);
    folder.write('wide/model.safetensors', withHeader(`{${entries.join(',')}}`));
    using model = await openModel(join(folder.path, 'wide'));
    expect(model.size).toBe(COUNT);
    expect([nameOf(0), nameOf(COUNT - 1), 'none'].map((name) => model.has(name))).toEqual([true, true, false]);
    expect(model.tensor(nameOf(COUNT - 1)).shape).toEqual([0]);
    let seen = 0;
    for (const name of model.keys()) if (name === names[seen]) seen++;
    expect(seen).toBe(COUNT);
  });
});

// Owns the native memory that conversions write to: it goes with the conversion, not with the next collection, and never
// under a thread that writes. Refuses what the floats are; that is asked elsewhere.

import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { LIBRARY } from './bundle.js';
import { Companion, SANITIZED, temporaryFolder } from './child.js';
import { writeSparse } from './files.js';

const path = join(temporaryFolder(), 'holes.safetensors');
const MiB = 2 ** 20;

beforeAll(() =>
  writeSparse(path, {
    small: { dtype: 'F8_E8M0', shape: [1024, 1024], byteLength: MiB },
    large: { dtype: 'F8_E8M0', shape: [8, MiB], byteLength: 8 * MiB },
  }),
);

const PRELUDE = `
  import { nativeBinding } from ${JSON.stringify(LIBRARY.href)};
  import { openSync } from 'node:fs';
  const HALF = 2 ** -127;
  const binding = nativeBinding();
  const { liveFloats } = binding;
  const file = st.openSync(path);
  const nameOf = (use) => { try { return String(use()); } catch (error) { return error.name + ': ' + error.message; } };
  const outcomeOf = (promise) => promise.then(() => 'done', (error) => (error instanceof st.SafeTensorsError ? error.code : error.name));
  // Of the mapping's first bytes, which are no numbers that matter.
  const handle = binding.map(openSync(path), 4 * 2 ** 20, true);
  const convertInto = (floats, count) => binding.convertInto(handle, 0, count, [], [], 'U8', 0, floats, 0, count);
`;

// Nothing is collected within a piece that does not ask for it. Two mappings are the prelude's.
const companion = new Companion(() => path, PRELUDE);
const reported = (source: string) => companion.run(source, 2);

describe('after a conversion, without a collection', () => {
  it('into a target, no memory is left: not of pieces, not of lanes', async () => {
    const source = `
      const target = new Float32Array(2 ** 23);
      let most = 0;
      for (let round = 0; round < 100; round++) {
        await file.tensor('small').slice(null, [null, null, 1 + (round % 2)]).toFloat32({ target, threads: 1 + (round % 3) });
        most = Math.max(most, liveFloats());
      }
      await file.tensor('large').toFloat32({ target, threads: 4 });
      report([most, liveFloats(), target[0] === HALF]);`;
    expect(await reported(source)).toEqual([[0, 0, true]]);
  });

  it.each([
    ['fresh memory', 'undefined'],
    ['a target', 'new Float32Array(2 ** 23)'],
  ])('into %s that was aborted, or lost its file, none is left either', async (_, target) => {
    const source = `
      const outcomes = new Set();
      let most = 0;
      for (let round = 0; round < 24; round++) {
        const other = st.openSync(path);
        const controller = new AbortController();
        const converting = outcomeOf(other.tensor('large').toFloat32({ target: ${target}, threads: 1 + (round % 4), signal: controller.signal }));
        for (let i = 0; i < round % 3; i++) await turn();
        if (round % 2) controller.abort(); else other.close();
        outcomes.add(await converting);
        most = Math.max(most, liveFloats());
      }
      report([[...outcomes].sort(), most]);`;
    expect(await reported(source)).toEqual([[['AbortError', 'CLOSED'], 0]]);
  });

  it('into fresh memory, only the result is left, until it goes', async () => {
    const source = `
      let kept = [];
      for (let round = 0; round < 5; round++) kept.push(await file.tensor('large').toFloat32({ threads: 2 }));
      report([liveFloats(), kept.every((floats) => floats[2 ** 23 - 1] === HALF)]);
      // Node 20 copies what it cannot move, later ones refuse; neither keeps a share.
      try { structuredClone(kept[0].buffer, { transfer: [kept[0].buffer] }); } catch {}
      kept = undefined;
      await collect();
      report(liveFloats());`;
    expect(await reported(source)).toEqual([[5, true], 0]);
  });

  it('refused by the runtime as a buffer, it is copied, and none is left', async () => {
    const source = `
      const { exposeFloats } = binding;
      binding.exposeFloats = () => null;
      const floats = await file.tensor('large').toFloat32({ threads: 2 });
      report([floats.length, floats.at(-1) === HALF, liveFloats()]);
      binding.exposeFloats = exposeFloats;`;
    expect(await reported(source)).toEqual([[8 * MiB, true, 0]]);
  });
});

describe('a handle', () => {
  it('that was released or exposed is refused by every use but release', async () => {
    const source = `
      const released = binding.allocateFloats(16);
      binding.releaseFloats(released);
      binding.releaseFloats(released);
      const exposed = binding.allocateFloats(16);
      const buffer = binding.exposeFloats(exposed);
      for (const floats of [released, exposed]) {
        report([
          nameOf(() => binding.copyFloats(floats, 0, 1, new Float32Array(1), 0)),
          nameOf(() => binding.exposeFloats(floats)),
          nameOf(() => convertInto(floats, 16)),
        ]);
      }
      binding.releaseFloats(exposed);
      report([buffer.byteLength, liveFloats()]);
      report([undefined, {}, handle].map((other) => nameOf(() => binding.releaseFloats(other))));`;
    const gone = new Array(3).fill('TypeError: the floats were exposed or released');
    const stranger = new Array(3).fill('TypeError: not a handle of floats');
    expect(await reported(source)).toEqual([gone, gone, [64, 1], stranger]);
  });

  it('may be released while threads write: the memory waits for them', async () => {
    const source = `
      for (let round = 0; round < 8; round++) {
        const floats = binding.allocateFloats(4 * 2 ** 20);
        const pieces = [convertInto(floats, 4 * 2 ** 20), convertInto(floats, 2 ** 20)];
        if (round === 0) report(nameOf(() => binding.exposeFloats(floats)));
        binding.releaseFloats(floats);
        if (round === 0) report(liveFloats());
        await Promise.all(pieces);
      }
      report(liveFloats());`;
    expect(await reported(source)).toEqual(['TypeError: the floats are still being written', 1, 0]);
  });

  // The sanitizer would mark every byte of them.
  it.skipIf(SANITIZED || process.platform !== 'linux')('of 32 GiB becomes no buffer', async () => {
    const source = `
      const floats = binding.allocateFloats(2 ** 33);
      // The system may have refused already.
      report(floats === null ? null : binding.exposeFloats(floats));
      if (floats !== null) binding.releaseFloats(floats);
      report(liveFloats());`;
    expect(await reported(source)).toEqual([null, 0]);
  });
});

// Owns the addon's weak references by themselves: what they give back, and what they refuse.
// Refuses collections, which are seen in a process of their own (lifetime/cycles.test.ts).

import { expect, it } from 'vitest';
import { nativeBinding } from '../../src/binding.js';

const binding = nativeBinding();

it('a weak handle gives back its buffer while somebody holds it', () => {
  const buffer = new ArrayBuffer(8);
  const handle = binding.weaken(buffer);
  expect(binding.strengthen(handle)).toBe(buffer);
  expect(binding.strengthen(handle)).toBe(buffer);
});

it.each([undefined, null, 1, 'x', {}, new Uint8Array(8), new SharedArrayBuffer(8), Symbol('x'), binding.weaken])(
  'nothing but a buffer is weakened, and nothing but a handle strengthened: %s',
  (value) => {
    expect(() => binding.weaken(value as never)).toThrow(TypeError);
    expect(() => binding.strengthen(value as never)).toThrow(TypeError);
  },
);

it('a handle of another kind is refused', () => {
  const floats = binding.allocateFloats(4)!;
  expect(() => binding.strengthen(floats as never)).toThrow('not a weak handle');
  binding.releaseFloats(floats);
});

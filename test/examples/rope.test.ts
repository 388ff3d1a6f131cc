// Owns the frequencies of the rotary embedding, to the last bit: over long texts an error in them grows with the position.
// Refuses to compute expectations: they are what transformers 5.18 prints for these settings.

import { expect, it } from 'vitest';
import { frequencies } from '../../examples/llama/rope.js';

const LLAMA3 = { factor: 8, lowFactor: 1, highFactor: 4, originalPositions: 512 };

it.each([
  [
    'the plain ones',
    14,
    { theta: 500_000 },
    [
      1.0, 0.15341272950172424, 0.023535463958978653, 0.0036106405314058065, 0.0005539180710911751,
      8.497810631524771e-5, 1.303672615904361e-5,
    ],
  ],
  [
    'those of Llama 3, fast, blended and slow',
    20,
    { theta: 10_000, llama3: LLAMA3 },
    [
      1.0, 0.3981071710586548, 0.15848931670188904, 0.06309572607278824, 0.010809570550918579, 0.0012499999720603228,
      0.0004976338241249323, 0.000198111665667966, 7.886966341175139e-5, 3.13985874527134e-5,
    ],
  ],
])('has %s', (_, size, rope, expected) => {
  expect([...frequencies(size, rope)]).toEqual(expected);
});

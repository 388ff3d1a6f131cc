// Owns the small parts of the example: choosing tokens, streaming text, sharing the event loop.
// Refuses the model as a whole, which generate.test.ts runs.

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { shown } from '../../examples/llama/errors.js';
import { choose, randomFrom } from '../../examples/llama/sampling.js';
import { TextTokenizer } from '../../examples/llama/tokenizer.js';
import { myTurn, nextTurn } from '../../examples/llama/turns.js';

const RULES = new URL('../../examples/models/kjv-llama/tokenizer.json', import.meta.url);
const rules = JSON.parse(readFileSync(RULES, 'utf8')) as object;
const tokenizer = new TextTokenizer(rules, {}, 'tokenizer.json');

it('draws tokens as often as their logits say, and sharper at a lower temperature', () => {
  const logits = Float32Array.from([1, 2, 4, 4].map(Math.log));
  const counts = (temperature: number, topK: number) => {
    const random = randomFrom(5);
    const found = [0, 0, 0, 0];
    for (let i = 0; i < 11_000; i++) found[choose(logits, { temperature, topK, random })]!++;
    return found.map((count) => count / 1000);
  };
  const close = (found: number[], expected: number[]) =>
    found.forEach((f, i) => void expect(f).toBeCloseTo(expected[i]!, 0));
  close(counts(1, 4), [1, 2, 4, 4]);
  close(
    counts(0.5, 4),
    [1, 4, 16, 16].map((weight) => (weight * 11) / 37),
  );
  expect(counts(1, 3)[0]).toBe(0);
  expect(counts(0, 4)).toEqual([0, 0, 11, 0]);
  expect(counts(1, 1)).toEqual([0, 0, 11, 0]);
});

it('chooses a token of the vocabulary whatever the logits are', () => {
  const random = () => 1 - 2 ** -32;
  for (const logits of [
    [Number.NaN, 1, 2],
    [0, Number.NaN, 1],
    [1, 2, Number.POSITIVE_INFINITY],
    [-1e30, -1e30, -1e38],
  ]) {
    for (const temperature of [0, 1e-9, 1, 1e9]) {
      for (const topK of [1, 2, 99]) {
        expect([0, 1, 2]).toContain(choose(Float32Array.from(logits), { temperature, topK, random }));
      }
    }
  }
});

it('gives a character once all its bytes are there, and waits for no byte that never comes', () => {
  const text = 'naïve — 東京 🙂 and';
  const tokens = tokenizer.encode(text);
  const textOf = tokenizer.stream([]);
  const pieces = tokens.map(textOf);
  expect(pieces.join('')).toBe(text);
  expect(pieces.filter((piece) => piece === '').length).toBeGreaterThan(8);
  expect(pieces.join('')).not.toContain('\u{fffd}');

  const stray = tokenizer.encode('東').at(-1)!; // a byte that only follows others
  const stuck = tokenizer.stream(tokenizer.encode('And'));
  const smile = tokenizer.encode('🙂').slice(1);
  expect([...new Array<number>(12).fill(stray), ...smile].map(stuck).join('')).toBe(`${'\u{fffd}'.repeat(12)}🙂`);
});

it('keeps the spaces before punctuation, whatever the settings say', () => {
  const tidy = new TextTokenizer(rules, { clean_up_tokenization_spaces: true }, 'tokenizer.json');
  const text = "he said , I do n't know . ' so ' the man 's";
  for (const each of [tokenizer, tidy]) {
    const tokens = each.encode(text);
    expect(each.decode(tokens)).toBe(text);
    expect(tokens.map(each.stream([])).join('')).toBe(text);
  }
});

it('leaves out tokens without a word, as padded vocabularies have', () => {
  const [word] = tokenizer.encode('And').slice(1);
  expect(tokenizer.decode([5000, word!, 9999])).toBe('And');
  expect(tokenizer.decode([5000])).toBe('');
  const withoutUnknown = { ...rules, decoder: { type: 'Replace', pattern: { String: '_' }, content: ' ' } };
  expect(new TextTokenizer(withoutUnknown, {}, 'tokenizer.json').decode([5000])).toBe('');
});

it('shows values of all types in messages', () => {
  const values = [Number.NaN, -0.5, 7n, undefined, null, 'a\nb', [1], () => 1, Symbol('s'), Number.POSITIVE_INFINITY];
  const words = ['NaN', '-0.5', '7n', 'undefined', 'null', '"a\\nb"', '[1]', 'a function', 'Symbol(s)', 'Infinity'];
  expect(values.map(shown)).toEqual(words);
  expect(shown('x'.repeat(99))).toBe(`"${'x'.repeat(79)}…`);
});

it('streams a space that only shows beside another word', () => {
  const before = tokenizer.encode('In the');
  const whole = tokenizer.encode('In the beginning God');
  const textOf = tokenizer.stream(before);
  expect(whole.slice(before.length).map(textOf).join('')).toBe(' beginning God');
});

it('streams what a tokenizer in the manner of Llama 2 writes: spaces in its words, other characters as bytes', () => {
  const bytes = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`);
  const words = ['<unk>', '<s>', ...bytes, '▁', 'a', 'b', '▁a', '▁b', 'ab', '▁ab'];
  const special = (id: number) => ({ id, content: words[id], special: true, normalized: false });
  const llama2 = new TextTokenizer(
    {
      added_tokens: [special(0), special(1)],
      pre_tokenizer: null,
      post_processor: null,
      normalizer: {
        type: 'Sequence',
        normalizers: [
          { type: 'Prepend', prepend: '▁' },
          { type: 'Replace', pattern: { String: ' ' }, content: '▁' },
        ],
      },
      decoder: {
        type: 'Sequence',
        decoders: [
          { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
          { type: 'ByteFallback' },
          { type: 'Fuse' },
          { type: 'Strip', content: ' ', start: 1, stop: 0 },
        ],
      },
      model: {
        type: 'BPE',
        unk_token: '<unk>',
        fuse_unk: true,
        byte_fallback: true,
        vocab: Object.fromEntries(words.map((word, id) => [word, id])),
        merges: ['▁ a', '▁ b', 'a b', '▁a b'].map((merge) => merge.split(' ')),
      },
    },
    {},
    'tokenizer.json',
  );
  const text = 'ab 東京大学 🙂🙂 b ab';
  const tokens = llama2.encode(text);
  expect(tokens.length).toBeGreaterThan(20);
  expect(tokens.map(llama2.stream([])).join('')).toBe(text);
  expect(
    tokens
      .slice(1)
      .map(llama2.stream(tokens.slice(0, 1)))
      .join(''),
  ).toBe(text.slice(2));
});

it('gives each waiting computation a turn of its own', async () => {
  let turn = 0;
  let watching = true;
  const watch = () => {
    turn++;
    if (watching) setImmediate(watch);
  };
  setImmediate(watch);
  const seen: number[] = [];
  const names: string[] = [];
  await Promise.all(
    ['a', 'b', 'c'].map(async (name) => {
      await nextTurn();
      names.push(name);
      seen.push(turn);
    }),
  );
  watching = false;
  expect(names).toEqual(['a', 'b', 'c']);
  expect(new Set(seen).size).toBe(3);
  expect(myTurn()).toBeUndefined(); // the last turn has only begun
});

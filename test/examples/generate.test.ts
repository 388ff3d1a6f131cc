// Owns how the example writes: the same text as transformers, seeds, ends, limits, and what happens when it is cut short.
// Refuses to judge the text.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it, vi } from 'vitest';
import {
  type GeneratedToken,
  type GenerateOptions,
  type GenerationSummary,
  generate,
  type LlamaConfig,
  type LlamaErrorCode,
  loadModel,
} from '../../examples/llama/index.js';
import { LlamaModel } from '../../examples/llama/model.js';

const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const MODEL = at('examples/models/kjv-llama');
const expected = JSON.parse(readFileSync(at('test/fixtures/llama/kjv-llama/expected.json'), 'utf8')) as {
  maxTokens: number;
  greedy: { prompt: string; promptTokens: number[]; tokens: number[]; text: string }[];
};

const model = await loadModel(MODEL);
afterAll(() => model.close());

async function written(
  prompt: string,
  options: GenerateOptions,
  by = model,
): Promise<{ steps: GeneratedToken[]; summary: GenerationSummary }> {
  const steps: GeneratedToken[] = [];
  const generation = generate(by, prompt, options);
  for (;;) {
    const { done, value } = await generation.next();
    if (done) return { steps, summary: value };
    steps.push(value);
  }
}

const NO_TOKENS = [['1'], [1n], [undefined], new Array(1), [Number.NaN]] as unknown as number[][];

/** The same weights under another configuration. */
const withConfig = (changes: Partial<LlamaConfig>) =>
  new LlamaModel({ ...model.config, ...changes }, model.weights, model.tokenizer);

const failure = (code: LlamaErrorCode, message: RegExp) =>
  expect.objectContaining({ name: 'LlamaError', code, message: expect.stringMatching(message) });

describe('generate', () => {
  it.each(expected.greedy)('continues $prompt as transformers does', async ({ prompt, promptTokens, tokens, text }) => {
    expect(model.tokenizer.encode(prompt)).toEqual(promptTokens);
    const { steps, summary } = await written(prompt, { maxTokens: expected.maxTokens });
    expect(steps.map(({ token }) => token)).toEqual(tokens);
    expect(summary).toMatchObject({ promptTokens: promptTokens.length, tokens: tokens.length, text });
    expect(steps.map((step) => step.text).join('')).toBe(text);
  });

  it('repeats a seed, and draws otherwise with another', async () => {
    const draw = async (seed?: number) =>
      (await written('And', { maxTokens: 24, temperature: 1, topK: 40, seed })).summary;
    const first = await draw(7);
    expect(await draw(7)).toEqual(first);
    expect((await draw(8)).text).not.toBe(first.text);
    const { seed, text } = await draw();
    expect((await draw(seed)).text).toBe(text);
  });

  it('ends with the text, with maxTokens and with the context', async () => {
    const { prompt, tokens } = expected.greedy[0]!;
    const short = await written(prompt, { maxTokens: 3 });
    expect(short.summary).toMatchObject({ tokens: 3, reason: 'length' });
    const ending = tokens.findIndex((token, i) => i > 0 && tokens.indexOf(token) === i);
    const ends = await written(prompt, {}, withConfig({ endTokens: [99, tokens[ending]!] }));
    expect(ends.summary).toMatchObject({ tokens: ending, reason: 'end' });
    expect(ends.steps).toHaveLength(ending);
    const full = await written(prompt, {}, withConfig({ endTokens: [], positions: 20 }));
    expect(full.summary).toMatchObject({ tokens: 20 - full.summary.promptTokens, reason: 'context' });
  });

  it('ends at an abort, before, between and within tokens', async () => {
    const reason = new Error('enough');
    await expect(written('And', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);

    const between = new AbortController();
    const generation = generate(model, 'And', { signal: between.signal });
    await generation.next();
    between.abort(reason);
    await expect(generation.next()).rejects.toBe(reason);

    const within = new AbortController();
    const long = written('And the LORD spake unto Moses, saying, '.repeat(12), { signal: within.signal });
    setImmediate(() => within.abort(reason));
    await expect(long).rejects.toBe(reason);
  });

  it('leaves the event loop its turns during a long prompt', async () => {
    let turns = 0;
    let watching = true;
    const watch = () => {
      turns++;
      if (watching) setImmediate(watch);
    };
    watch();
    await written('And the LORD spake unto Moses, saying, '.repeat(12), { maxTokens: 1 });
    watching = false;
    expect(turns).toBeGreaterThan(5);
  });

  it('writes several texts at once', async () => {
    const texts = expected.greedy.map(({ prompt }) => written(prompt, { maxTokens: expected.maxTokens }));
    const found = (await Promise.all(texts)).map(({ summary }) => summary.text);
    expect(found).toEqual(expected.greedy.map(({ text }) => text));
  });

  it.each<[string, string, GenerateOptions, LlamaErrorCode, RegExp]>([
    ['a temperature below 0', 'And', { temperature: -1 }, 'INVALID_ARGUMENT', /^temperature is -1; /],
    [
      'a temperature that is no number',
      'And',
      { temperature: Number.NaN },
      'INVALID_ARGUMENT',
      /^temperature is NaN; /,
    ],
    ['no tokens to write', 'And', { maxTokens: 0 }, 'INVALID_ARGUMENT', /^maxTokens is 0; /],
    ['half a token', 'And', { topK: 0.5 }, 'INVALID_ARGUMENT', /^topK is 0.5; /],
    ['a seed below 0', 'And', { seed: -3 }, 'INVALID_ARGUMENT', /^seed is -3; /],
    ['a prompt that is no string', 7 as unknown as string, {}, 'INVALID_ARGUMENT', /^the prompt is 7, not a string/],
    [
      'a prompt that fills the context',
      'And '.repeat(300),
      {},
      'CONTEXT_FULL',
      /^the prompt has \d+ tokens; the model has 256 /,
    ],
  ])('refuses %s', async (_, prompt, options, code, message) => {
    await expect(written(prompt, options)).rejects.toEqual(failure(code, message));
  });
});

describe('forward', () => {
  it('refuses tokens that are none, and more of them than there are positions; the state stays', async () => {
    const state = model.newState();
    await model.forward(state, [1, 2, 3]);
    for (const tokens of [[], [-1], [1.5], [model.config.vocabulary], ...NO_TOKENS]) {
      await expect(model.forward(state, tokens)).rejects.toEqual(failure('INVALID_ARGUMENT', /forward takes/));
    }
    const many = new Array<number>(254).fill(5);
    await expect(model.forward(state, many)).rejects.toEqual(failure('CONTEXT_FULL', /^3 tokens and 254 more /));
    expect(state.length).toBe(3);
  });

  it('refuses the state of another model', async () => {
    const other = withConfig({ layers: 3 });
    await expect(model.forward(other.newState(), [1])).rejects.toEqual(failure('INVALID_ARGUMENT', /another model/));
  });

  it('uses the tokens that it was given, whatever becomes of the array', async () => {
    const given = Array.from({ length: 40 }, (_, i) => i); // more than one part
    const logits = model.forward(model.newState(), [...given]);
    const changed = model.forward(model.newState(), given);
    given.fill(-1);
    expect(await changed).toEqual(await logits);
  });

  it('asks for an abort before each product of a layer: one takes seconds in a large model', async () => {
    let questions = 0;
    const signal = { throwIfAborted: () => void questions++ } as AbortSignal;
    await model.forward(model.newState(), [1], { signal });
    expect(questions).toBe(7 * model.config.layers);
  });

  it('can go on with a state for which memory ran out', async () => {
    const state = model.newState();
    const { Float32Array: Original } = globalThis;
    const width = model.config.keyHeads * model.config.headSize;
    const vector = new Original(width).fill(9);
    let made = 0;
    class Scarce extends Original {
      constructor(length: number) {
        if (++made === 2) throw new RangeError('no memory');
        super(length);
      }
    }
    vi.stubGlobal('Float32Array', Scarce);
    expect(() => state.put(0, vector, vector)).toThrow('no memory');
    vi.unstubAllGlobals();
    expect(await model.forward(state, [1])).toEqual(await model.forward(model.newState(), [1]));
  });

  it('refuses a state that is in use', async () => {
    const state = model.newState();
    const first = model.forward(state, [1, 2, 3]);
    await expect(model.forward(state, [4])).rejects.toEqual(failure('BUSY', /in use/));
    await first;
    expect(state.length).toBe(3);
  });

  it('gives the same for a text in pieces as for all of it, and again after it was cut short half way', async () => {
    const tokens = model.tokenizer.encode('The book of the generation of Jesus Christ, '.repeat(8));
    expect(tokens.length).toBeGreaterThan(100); // several parts, and a cache that has to grow
    const whole = await model.forward(model.newState(), tokens);
    const state = model.newState();
    await model.forward(state, tokens.slice(0, 5));
    let questions = 0;
    const signal = {
      throwIfAborted() {
        if (++questions > model.config.layers + 1) throw new Error('half way');
      },
    } as AbortSignal;
    await expect(model.forward(state, tokens.slice(5), { signal })).rejects.toThrow('half way');
    expect(state.length).toBe(5);
    expect(state.busy).toBe(false);
    expect(await model.forward(state, tokens.slice(5))).toEqual(whole);
  });

  it('rejects with the library’s CLOSED once the model is closed, also in the midst of a text', async () => {
    const other = await loadModel(MODEL);
    const generation = generate(other, 'And');
    await generation.next();
    other.close();
    await expect(generation.next()).rejects.toMatchObject({ name: 'SafeTensorsError', code: 'CLOSED' });
  });
});

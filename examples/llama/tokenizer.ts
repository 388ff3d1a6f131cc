// Owns text to tokens and back, also piece by piece as tokens arrive. Refuses rules of its own: tokenizer.json has them.

import { Tokenizer } from '@huggingface/tokenizers';
import { LlamaError, shown } from './errors.js';

/** Stands where bytes are no UTF-8, which half a character at the end of a text is as well. */
const REPLACEMENT = '\u{fffd}';

/** A character has four bytes at most, and a token at least one of them: more tokens than that wait for nothing. */
const MOST_WAITING = 4;

/** The tokenizer of one model. */
export class TextTokenizer {
  readonly #tokenizer: Tokenizer;

  /** Over tokenizer.json and tokenizer_config.json of a model; `path` is for messages. Throws INVALID_CONFIG. */
  constructor(rules: unknown, settings: unknown, path: string) {
    try {
      this.#tokenizer = new Tokenizer(rules as object, settings as object);
    } catch (cause) {
      throw new LlamaError('INVALID_CONFIG', `${shown(path)} is not understood as a tokenizer`, { cause });
    }
  }

  /** Tokens of a text, with the mark of its beginning where the model has one. */
  encode(text: string): number[] {
    return this.#tokenizer.encode(text).ids;
  }

  /** Text of tokens, without the marks. */
  decode(tokens: readonly number[]): string {
    return tokens.length === 0 ? '' : this.#tokenizer.decode([...tokens], { skip_special_tokens: true });
  }

  /**
   * A function that takes one token after the other and returns the text that each adds: '' while a character is
   * incomplete. `before` are the tokens of the prompt: a token's text can depend on the one before it.
   */
  stream(before: readonly number[]): (token: number) => string {
    const known = before.slice(-MOST_WAITING);
    let waiting: number[] = [];
    return (token) => {
      waiting.push(token);
      const prefix = this.decode(known);
      const text = this.decode([...known, ...waiting]);
      if (text.endsWith(REPLACEMENT) && waiting.length < MOST_WAITING) return '';
      known.push(...waiting);
      known.splice(0, known.length - MOST_WAITING);
      waiting = [];
      return text.slice(prefix.length);
    };
  }
}

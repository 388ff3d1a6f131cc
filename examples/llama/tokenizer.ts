// Owns text to tokens and back, also piece by piece as tokens arrive. Refuses rules of its own: tokenizer.json has them.

import { Tokenizer } from '@huggingface/tokenizers';
import { LlamaError, shown } from './errors.js';

/** Stands where bytes are no UTF-8, which half a character at the end of a text is as well. */
const REPLACEMENT = '\u{fffd}';

/** The spaces that models write before punctuation stay, whatever tokenizer_config.json says: streamed text cannot shrink. */
const AS_WRITTEN = { skip_special_tokens: true, clean_up_tokenization_spaces: false };

/** Tokens that text is decoded with again: the one before matters, and a character has four bytes, each a token at worst. */
const KEPT = 4;

/** The tokenizer of one model. */
export class TextTokenizer {
  readonly #tokenizer: Tokenizer;

  /** Over tokenizer.json and tokenizer_config.json of a model; `path` is for messages. Throws INVALID_CONFIG. */
  constructor(rules: unknown, settings: unknown, path: string) {
    try {
      this.#tokenizer = new Tokenizer(rules as object, settings as object);
      this.decode(this.encode('a')); // many a mistake shows only when it is used
    } catch (cause) {
      throw new LlamaError('INVALID_CONFIG', `${shown(path)} is not understood as a tokenizer`, { cause });
    }
  }

  /** Tokens of a text, with the mark of its beginning where the model has one. */
  encode(text: string): number[] {
    return this.#tokenizer.encode(text).ids;
  }

  /** Text of tokens, without the marks. Tokens that the tokenizer has no word for, as padded vocabularies have, are left out. */
  decode(tokens: readonly number[]): string {
    const known = tokens.filter((token) => this.#tokenizer.id_to_token(token) !== undefined);
    return known.length === 0 ? '' : this.#tokenizer.decode(known, AS_WRITTEN);
  }

  /**
   * A function that takes one token after the other and returns the text that each adds: '' while a character is
   * incomplete. `before` are the tokens of the prompt: a token's text can depend on the one before it.
   */
  stream(before: readonly number[]): (token: number) => string {
    let tokens = before.slice(-KEPT);
    let given = this.#complete(tokens).length;
    return (token) => {
      tokens.push(token);
      const text = this.#complete(tokens);
      const more = text.slice(given);
      given = text.length;
      if (tokens.length > 2 * KEPT) {
        tokens = tokens.slice(-KEPT);
        given = this.#complete(tokens).length;
      }
      return more;
    };
  }

  /** Text of tokens without the character that the next token may complete, whose bytes until now decode to one mark. */
  #complete(tokens: readonly number[]): string {
    const text = this.decode(tokens);
    return text.endsWith(REPLACEMENT) ? text.slice(0, -REPLACEMENT.length) : text;
  }
}

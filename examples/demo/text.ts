// Owns how the demo prints texts and figures. Refuses to let a model's text act on the terminal.

/** Text from a file or a path as one line without control characters. */
export function printable(text: string): string {
  return escaped(text, /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu);
}

/** The same for what a model writes, whose lines and tabs stay. */
export function printableText(text: string): string {
  return escaped(text, /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu);
}

/** Bytes with their unit, and thousands apart. */
export function kibibytes(bytes: number): string {
  return `${Math.round(bytes / 1024).toLocaleString('en')} KiB`;
}

/** How many of something there were in a second, of `count` in `milliseconds`. */
export function perSecond(count: number, milliseconds: number): string {
  return ((1000 * count) / milliseconds).toFixed(0);
}

function escaped(text: string, characters: RegExp): string {
  return text.replace(characters, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

// Owns what text becomes before a person sees it: unprintable characters, widths, tables, colours.
// Refuses to write anything and to know what a tensor is; names, metadata and paths are all hostile text here.

import picocolors from 'picocolors';

/** A set of colour functions; each returns its text unchanged when colours are off. */
export type Paint = ReturnType<typeof picocolors.createColors>;

/**
 * Colours for a stream: those of a terminal, unless NO_COLOR is set; FORCE_COLOR (not 0) brings them to a pipe.
 * picocolors' own guess also looks at CI, at the platform and at the process's arguments, which are not ours to share.
 */
export function paintFor(
  stream: { isTTY?: boolean | undefined },
  env: Readonly<Record<string, string | undefined>>,
): Paint {
  const { NO_COLOR: no, FORCE_COLOR: force, TERM: term } = env;
  const forced = force !== undefined && force !== '' && force !== '0';
  const wanted = forced || (stream.isTTY === true && term !== 'dumb' && force !== '0');
  return picocolors.createColors(wanted && !no);
}

// Controls, formatting characters (every bidi control is one), line and paragraph separators, lone surrogates.
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;
const EVERY_UNPRINTABLE = new RegExp(UNPRINTABLE, 'gu');
const SHORT_ESCAPES: ReadonlyMap<string, string> = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
]);

/** Untrusted text as one line that cannot move a cursor, ring, recolour or reorder: `\n`, `\u001b`, `\u{e0001}`. */
export function printable(text: string): string {
  if (!UNPRINTABLE.test(text)) return text;
  return text.replace(EVERY_UNPRINTABLE, (character) => {
    const hex = character.codePointAt(0)!.toString(16);
    return SHORT_ESCAPES.get(character) ?? (hex.length > 4 ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`);
  });
}

/** A name or a key as it stands in a table: printable, in quotes when it is empty or its ends could not be seen. */
export function label(name: string): string {
  const text = printable(name);
  return text === '' || text !== text.trim() ? `"${text}"` : text;
}

// Raw line ends in JSON text are layout, never part of a string.
const EVERY_UNPRINTABLE_IN_JSON = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** JSON text with the unprintable characters that may stand raw in its strings as `\uXXXX`: the same value. */
export function printableJson(json: string): string {
  return json.replace(EVERY_UNPRINTABLE_IN_JSON, (character) =>
    Array.from(
      { length: character.length },
      (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`,
    ).join(''),
  );
}

const NARROW = /^[\x20-\x7e]*$/;
const ZERO_WIDTH = /\p{M}/u;
// Two of these make one flag, which is two columns wide.
const REGIONAL_INDICATOR = /\p{Regional_Indicator}/u;
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;

/** Columns that printable text takes on a terminal: 2 for CJK and emoji, 0 for combining marks. */
export function widthOf(text: string): number {
  if (NARROW.test(text)) return text.length;
  let width = 0;
  for (const character of text) {
    if (ZERO_WIDTH.test(character)) continue;
    width += WIDE.test(character) && !REGIONAL_INDICATOR.test(character) ? 2 : 1;
  }
  return width;
}

/** A count with a comma between thousands, whatever the locale. */
export function grouped(count: number): string {
  return String(count).replace(/\B(?=(?:[0-9]{3})+$)/g, ',');
}

/** A column of a table over rows of type R. `cell` must return printable text. */
export interface Column<R> {
  readonly title: string;
  readonly cell: (row: R) => string;
  /** 'right' is for numbers; default 'left'. */
  readonly align?: 'left' | 'right';
  readonly paint?: (text: string) => string;
}

/** The widest a column grows. One name of a megabyte must not pad every other line to a megabyte. */
export const MAX_COLUMN_WIDTH = 100;

const GAP = '  ';

/**
 * The lines of a table, each ended with a newline, computed as they are asked for.
 * Cells are made twice (once to measure) instead of kept: rows may be half a million.
 */
export function* table<R>(
  columns: readonly Column<R>[],
  rows: readonly R[],
  options: { readonly paint: Paint; readonly heading?: boolean; readonly indent?: string },
): Generator<string> {
  const { paint, heading = true, indent = '' } = options;
  const widths = columns.map((column) => {
    let widest = heading ? widthOf(column.title) : 0;
    for (const row of rows) widest = Math.max(widest, widthOf(column.cell(row)));
    return Math.min(widest, MAX_COLUMN_WIDTH);
  });
  const last = columns.length - 1;
  const line = (
    cellOf: (column: Column<R>) => string,
    paintOf: (column: Column<R>) => ((text: string) => string) | undefined,
  ) => {
    let text = indent;
    for (const [i, column] of columns.entries()) {
      const cell = cellOf(column);
      const padding = ' '.repeat(Math.max(0, widths[i]! - widthOf(cell)));
      const painted = paintOf(column)?.(cell) ?? cell;
      if (column.align === 'right') text += padding + painted;
      else text += i === last ? painted : painted + padding;
      if (i !== last) text += GAP;
    }
    return `${text}\n`;
  };
  if (heading)
    yield line(
      (column) => column.title,
      () => paint.bold,
    );
  for (const row of rows)
    yield line(
      (column) => column.cell(row),
      (column) => column.paint,
    );
}

// Owns what the demo prints names and tables with, in 80 columns. Refuses to let a file's text act on the terminal.
// Colours, sorting and filters are the command's: `npx safetensors ls PATH`.

const WIDTH = 80;
const GAP = '  ';

/** @param {string} text */
export function heading(text) {
  return `\n== ${text}`;
}

/**
 * Text from a file or a path as one line without control characters.
 * @param {string} text
 */
export function printable(text) {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}

/**
 * Name, dtype, shape and offsets of the first tensors, in order of offset.
 * @param {import('safetensors-mmap').SafeTensorsModel} model
 * @param {number} most
 */
export function* listing(model, most) {
  /** @type {[name: string, ...rest: string[]][]} */
  const rows = [['Tensor', 'Dtype', 'Shape', 'Offsets']];
  for (const name of model.keys()) {
    if (rows.length > most) break;
    const { dtype, shape, data_offsets } = model.info(name);
    rows.push([printable(name), dtype, `[${shape.join(', ')}]`, `[${data_offsets.join(', ')}]`]);
  }
  const widthOf = (/** @type {number} */ column) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const others = [1, 2, 3].map(widthOf);
  // The name gives way: the middle of a long one says least.
  const room = WIDTH - others.reduce((sum, width) => sum + width + GAP.length, 0);
  const names = Math.max(12, Math.min(widthOf(0), room));
  for (const [name, ...rest] of rows) {
    const cells = rest.map((cell, column) => cell.padEnd(others[column] ?? 0));
    yield [shortened(name, names).padEnd(names), ...cells].join(GAP).trimEnd();
  }
  if (model.size > most) yield `… and ${model.size - most} more (npx safetensors ls PATH lists all)`;
}

/**
 * @param {string} text
 * @param {number} width
 */
function shortened(text, width) {
  if (text.length <= width) return text;
  const tail = Math.floor((width - 1) / 2);
  return `${text.slice(0, width - 1 - tail)}…${text.slice(text.length - tail)}`;
}

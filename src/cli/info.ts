// Owns `safetensors info`: the words around a summary, and its JSON twin.
// Refuses to count anything and to shorten metadata.

import { expandJson } from './expand.js';
import type { FileSummary, Summary } from './summary.js';
import { type Column, grouped, label, type Paint, printable, printableJson, table, widthOf } from './terminal.js';

const INDENT = '  ';

/** The summary for people, in lines. */
export function* summaryText(summary: Summary, paint: Paint): Generator<string> {
  const { files, sharded } = summary;
  const facts: [string, string][] = [
    ['Path', printable(summary.path)],
    ['Size', sizeOf(summary.byteLength)],
    sharded ? ['Shards', grouped(files.length)] : ['Header', `${grouped(files[0]?.headerLength ?? 0)} bytes`],
    ['Tensors', tensorsOf(summary)],
    ['Parameters', parametersOf(summary.parameters)],
    ['Alignment', alignmentOf(summary)],
  ];
  for (const [title, text] of facts) yield `${paint.bold(title.padEnd(12))}${text}\n`;
  yield* metadataText(sharded ? 'Metadata of the index' : 'Metadata', summary.metadata, paint);
  if (sharded) {
    for (const [title, metadata] of distinctMetadata(files)) yield* metadataText(title, metadata, paint);
  }
  yield* dtypesText(summary, paint);
  if (sharded) yield* shardsText(files, paint);
}

function tensorsOf({ tensors, unlistedTensors }: Summary): string {
  return unlistedTensors === 0
    ? grouped(tensors)
    : `${grouped(tensors)}, and ${grouped(unlistedTensors)} that the index leaves out`;
}

function alignmentOf({ files, tensors, sharded }: Summary): string {
  const shifted = files.filter(({ dataOffset }) => dataOffset % 8 !== 0);
  const where = sharded
    ? `data begins at a multiple of 8 in ${grouped(files.length - shifted.length)} of ${grouped(files.length)} shards`
    : `data begins at byte ${grouped(files[0]?.dataOffset ?? 8)}, ${shifted.length === 0 ? 'a' : 'not a'} multiple of 8`;
  const misaligned = files.reduce((total, file) => total + file.misalignedTensors, 0);
  const which = misaligned === 0 ? 'every tensor is' : `${grouped(misaligned)} of ${grouped(tensors)} tensors not`;
  return `${where}; ${which} aligned to the element size`;
}

/** Shards mostly share their metadata: each distinct one is shown once, empty ones not at all. */
function* distinctMetadata(files: readonly FileSummary[]): Generator<[string, ReadonlyMap<string, string>]> {
  const groups = new Map<string, { metadata: ReadonlyMap<string, string>; names: string[] }>();
  for (const { file, metadata } of files) {
    if (metadata.size === 0) continue;
    const key = JSON.stringify([...metadata]);
    const group = groups.get(key);
    if (group) group.names.push(file);
    else groups.set(key, { metadata, names: [file] });
  }
  for (const { metadata, names } of groups.values()) {
    const others = names.length === 1 ? '' : ` and ${grouped(names.length - 1)} more`;
    yield [
      names.length === files.length ? 'Metadata of every shard' : `Metadata of ${printable(names[0]!)}${others}`,
      metadata,
    ];
  }
}

function* metadataText(title: string, metadata: ReadonlyMap<string, string>, paint: Paint): Generator<string> {
  if (metadata.size === 0) return;
  yield `\n${paint.bold(title)}\n`;
  const keys = new Map([...metadata.keys()].map((key) => [key, label(key)]));
  // A long key, which a file may well have, must not push all values to the right.
  const width = Math.min(
    32,
    [...keys.values()].reduce((widest, key) => Math.max(widest, widthOf(key)), 0),
  );
  for (const [key, value] of metadata) {
    const shown = keys.get(key)!;
    const expanded = expandJson(value);
    const padding = ' '.repeat(Math.max(0, width - widthOf(shown)));
    if (expanded === undefined) yield `${INDENT}${paint.cyan(shown)}${padding}  ${printable(value)}\n`;
    else {
      yield `${INDENT}${paint.cyan(shown)}\n`;
      for (const line of expanded.split('\n')) yield `${INDENT}${INDENT}${printable(line)}\n`;
    }
  }
}

function* dtypesText({ dtypes }: Summary, paint: Paint): Generator<string> {
  if (dtypes.length === 0) return;
  const columns: Column<Summary['dtypes'][number]>[] = [
    { title: 'Dtype', cell: ([dtype]) => dtype, paint: paint.cyan },
    { title: 'Tensors', cell: ([, count]) => grouped(count.tensors), align: 'right' },
    { title: 'Parameters', cell: ([, count]) => grouped(count.parameters), align: 'right' },
    { title: 'Bytes', cell: ([, count]) => grouped(count.byteLength), align: 'right' },
  ];
  yield '\n';
  yield* table(columns, dtypes, { paint });
}

function* shardsText(files: readonly FileSummary[], paint: Paint): Generator<string> {
  const columns: Column<FileSummary>[] = [
    { title: 'Shard', cell: ({ file }) => printable(file) },
    { title: 'Tensors', cell: ({ tensors }) => grouped(tensors), align: 'right' },
    { title: 'Header', cell: ({ headerLength }) => grouped(headerLength), align: 'right' },
    { title: 'Bytes', cell: ({ byteLength }) => grouped(byteLength), align: 'right' },
  ];
  yield '\n';
  yield* table(columns, files, { paint });
}

/** The summary as one JSON document; lengths are bytes, metadata values the exact strings. */
export function summaryJson(summary: Summary): string {
  const { path, byteLength, tensors, unlistedTensors, parameters, dtypes, metadata, sharded, files } = summary;
  const shards = files.map((file) => ({ ...file, metadata: Object.fromEntries(file.metadata) }));
  const { headerLength, dataOffset, misalignedTensors } = shards[0] ?? {};
  const alone = { headerLength, dataOffset, misalignedTensors };
  const document = {
    path,
    byteLength,
    ...(sharded ? {} : alone),
    tensors,
    parameters,
    dtypes: Object.fromEntries(dtypes),
    metadata: Object.fromEntries(metadata),
    ...(sharded ? { unlistedTensors, shards } : {}),
  };
  return `${printableJson(JSON.stringify(document, null, 2))}\n`;
}

const BINARY_UNITS = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
const COUNT_UNITS = ['thousand', 'million', 'billion', 'trillion'];

/** "1,239,748 bytes (1.18 MiB)". */
export function sizeOf(bytes: number): string {
  const text = `${grouped(bytes)} ${bytes === 1 ? 'byte' : 'bytes'}`;
  return bytes < 1024 ? text : `${text} (${scaled(bytes, 1024, BINARY_UNITS)})`;
}

/** "8,030,261,248 (8.03 billion)". */
export function parametersOf(count: number): string {
  return count < 1000 ? grouped(count) : `${grouped(count)} (${scaled(count, 1000, COUNT_UNITS)})`;
}

function scaled(value: number, step: number, units: readonly string[]): string {
  let rest = value / step;
  let unit = 0;
  // 999.996 would be printed as 1000.00: it belongs to the next unit.
  while (rest >= step - 0.005 && unit < units.length - 1) {
    rest /= step;
    unit += 1;
  }
  return `${rest.toFixed(2)} ${units[unit]}`;
}

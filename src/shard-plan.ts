// Owns how a model is split into files, what these are named and what their index says, as the Python ecosystem has it.
// Refuses sizes that are none. Pure: it never sees a file.

import { SafeTensorsError, shown } from './errors.js';
import { compareUtf8 } from './writing.js';

const UNITS: Readonly<Record<string, number>> = {
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KIB: 2 ** 10,
  MIB: 2 ** 20,
  GIB: 2 ** 30,
  TIB: 2 ** 40,
};

/** Bytes of a number of them, or of a text like '5GB' (10^9 each) or '512MiB' (2^20 each). Throws INVALID_ARGUMENT. */
export function parseByteSize(size: number | string): number {
  const [, digits, unit = 'B'] =
    /^\s*(\d+(?:\.\d+)?)\s*([a-z]+)?\s*$/i.exec(
      typeof size === 'string' || typeof size === 'number' ? String(size) : '',
    ) ?? [];
  const bytes = Math.floor(Number(digits) * (UNITS[unit.toUpperCase()] ?? Number.NaN));
  if (bytes >= 1 && Number.isSafeInteger(bytes)) return bytes;
  throw new SafeTensorsError(
    'INVALID_ARGUMENT',
    `maxShardSize is a number of bytes or a text like "5GB" or "512MiB", at least 1 byte, not ${shown(size)}`,
  );
}

/**
 * Tensors in groups of at most `most` bytes, in the order given: a group ends before the tensor that would exceed it. A
 * tensor larger than that is a group of its own, before the group that was begun. Always at least one group.
 */
export function splitByBytes<T extends { readonly byteLength: number }>(tensors: readonly T[], most: number): T[][] {
  const groups: T[][] = [];
  let group: T[] = [];
  let bytes = 0;
  for (const tensor of tensors) {
    if (tensor.byteLength > most) {
      groups.push([tensor]);
      continue;
    }
    if (bytes + tensor.byteLength > most) {
      groups.push(group);
      group = [];
      bytes = 0;
    }
    group.push(tensor);
    bytes += tensor.byteLength;
  }
  if (group.length > 0 || groups.length === 0) groups.push(group);
  return groups;
}

/** Names of the files of a model, in order. One file has the plain name. */
export function shardNames(name: string, count: number): string[] {
  if (count === 1) return [singleName(name)];
  return Array.from({ length: count }, (_, i) => `${name}-${five(i + 1)}-of-${five(count)}.safetensors`);
}

/** Name of a model that is one file. */
export function singleName(name: string): string {
  return `${name}.safetensors`;
}

/** Name of the index. */
export function indexName(name: string): string {
  return `${name}.safetensors.index.json`;
}

/** Name of a shard whose right name is still that of the model which is replaced. */
export function interimName(shard: string, tag: string): string {
  return shard.replace(/\.safetensors$/, `.saving-${tag}.safetensors`);
}

/** Whether a file is a shard of the model, under its right name or, then with the tag, under an interim one. */
export function parseShardName(name: string, file: string): { readonly tag: string | undefined } | undefined {
  if (!file.startsWith(`${name}-`)) return undefined;
  const rest = /^\d{5,}-of-\d{5,}(?:\.saving-([0-9a-f]{8}-\d+-[0-9a-f]{12}))?\.safetensors$/;
  const found = rest.exec(file.slice(name.length + 1));
  return found === null ? undefined : { tag: found[1] };
}

/**
 * The text of an index, as Python's json.dumps(index, indent=2, sort_keys=True) has it. `totalSize` is in bytes, without
 * headers.
 */
export function indexText(totalSize: number, shardOf: ReadonlyMap<string, string>): string {
  const entries = [...shardOf].sort(([a], [b]) => compareUtf8(a, b));
  const lines = entries.map(([tensor, shard]) => `    ${ascii(tensor)}: ${ascii(shard)}`);
  const weights = lines.length === 0 ? '{}' : `{\n${lines.join(',\n')}\n  }`;
  return `{\n  "metadata": {\n    "total_size": ${totalSize}\n  },\n  "weight_map": ${weights}\n}\n`;
}

function ascii(text: string): string {
  return JSON.stringify(text).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function five(number: number): string {
  return String(number).padStart(5, '0');
}

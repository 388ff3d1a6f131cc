// Owns the ways in which one content reaches a reader: mapped, read and from memory, aligned and not.
// Refuses models: their shards are files that come through these doors.

import { openSync, parse, type SafeTensors } from '../../src/index.js';
import { fileOf, type Scratch, type TensorSpec } from './files.js';

export const DOORS = [
  'a mapping',
  'a mapping of an unpadded file',
  'reads',
  'memory',
  'memory at an odd address',
] as const;

export type Door = (typeof DOORS)[number];

/** A file of these tensors through each door, in memory of its own each time. Data is that of `fileOf`. */
export function doorsTo(tensors: readonly TensorSpec[], folder: Scratch): (door: Door) => SafeTensors {
  const content = fileOf(tensors);
  const padded = folder.write('padded.safetensors', content);
  const unpadded = folder.write('unpadded.safetensors', fileOf(tensors, { shift: 5 }));
  const atOddAddress = () => {
    const copy = new Uint8Array(content.length + 3).subarray(3);
    copy.set(content);
    return copy;
  };
  const open: Record<Door, () => SafeTensors> = {
    'a mapping': () => openSync(padded),
    'a mapping of an unpadded file': () => openSync(unpadded),
    reads: () => openSync(padded, { backend: 'read' }),
    memory: () => parse(content.slice()),
    'memory at an odd address': () => parse(atOddAddress()),
  };
  return (door) => open[door]();
}

/** The bytes of any array. */
export function raw(view: ArrayBufferView): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}

/** Whether two arrays have the same bytes; faster than an expectation where there are thousands. */
export function sameBytes(a: ArrayBufferView, b: ArrayBufferView): boolean {
  return Buffer.compare(raw(a), raw(b)) === 0;
}

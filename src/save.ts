// Owns the saving of one file: its plan, progress and abort.
// Refuses to write in place over a file that the tensors themselves come from.

import type { BigIntStats } from 'node:fs';

import { quote, SafeTensorsError } from './errors.js';
import { placeBy, placeOf } from './identity.js';
import { keptMetadata } from './kept-metadata.js';
import { pathOf } from './open.js';
import type { Payload } from './payload.js';
import { PieceWriter } from './piece-writer.js';
import { followLinks, overwriteFile, replaceFile } from './replacing.js';
import { type SaveOptions, saveOptions } from './save-options.js';
import { payloadsOf, type TensorInputs } from './tensor-input.js';
import { type FilePlan, planFile } from './writing.js';

/**
 * Saves tensors as a file, off the event loop and in constant memory. Those of open files are streamed from them: a file may
 * be saved over itself. A write into a mapped view is part of what is saved; arrays must not change before the promise is
 * settled. Symbolic links are followed. Tensors that share memory are written once for each name, as the format has it.
 * Throws INVALID_TENSOR, INVALID_ARGUMENT, NOT_A_REGULAR_FILE, CLOSED when a source is closed meanwhile, TRUNCATED_DATA,
 * the signal's reason, and the system's errors (ENOSPC, EACCES, ENOENT …).
 */
export async function save(path: string | URL, tensors: TensorInputs, options: SaveOptions = {}): Promise<void> {
  const { signal, onProgress, atomic, metadata = keptMetadata(tensors), alignment } = saveOptions(options);
  signal?.throwIfAborted();
  const file = pathOf(path);
  const plan = planFile(payloadsOf(tensors), metadata, alignment);
  const target = await followLinks(file);
  const writing = (descriptor: number) =>
    writePlan(descriptor, plan, (written) => {
      onProgress?.(written, plan.byteLength);
      signal?.throwIfAborted();
    });
  if (atomic) await replaceFile(target, writing, () => signal?.throwIfAborted());
  else await overwriteFile(target, writing, (status) => refuseOverSource(target.path, status, plan.tensors));
}

/** Streams a planned file into a descriptor; `afterPiece` hears how many bytes are written, and stops it by throwing. */
export async function writePlan(
  descriptor: number,
  plan: FilePlan<Payload>,
  afterPiece: (written: number) => void,
): Promise<void> {
  const writer = new PieceWriter(descriptor, afterPiece);
  try {
    await writer.copy(plan.head);
    for (const payload of plan.tensors) await payload.writeTo(writer);
    await writer.finish();
  } finally {
    await writer.settle();
  }
}

/** Writes bytes that are at hand. */
export async function writeBytes(descriptor: number, bytes: Uint8Array): Promise<void> {
  const writer = new PieceWriter(descriptor, () => {});
  try {
    await writer.copy(bytes);
    await writer.finish();
  } finally {
    await writer.settle();
  }
}

/** Written in place, a file would be read while it is being overwritten. */
function refuseOverSource(path: string, status: BigIntStats, payloads: readonly Payload[]): void {
  const place = placeBy(status);
  const source = payloads.find(({ origin }) => origin !== undefined && placeOf(origin) === place);
  if (source === undefined) return;
  throw new SafeTensorsError(
    'INVALID_ARGUMENT',
    `${quote(path)} cannot be written in place: tensor ${quote(source.name)} and perhaps others come from it`,
    { path, tensor: source.name },
  );
}

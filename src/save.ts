// Owns the saving of one file: its plan, progress and abort.
// Refuses to write in place over a file that the tensors themselves come from.

import { stat } from 'node:fs/promises';

import { quote, SafeTensorsError } from './errors.js';
import { pathOf } from './open.js';
import type { Payload } from './payload.js';
import { PieceWriter } from './piece-writer.js';
import { followLinks, overwriteFile, replaceFile, type Target } from './replacing.js';
import type { SerializeOptions } from './serialize.js';
import { payloadsOf, type TensorInputs } from './tensor-input.js';
import { type FilePlan, planFile } from './writing.js';

/** What a save reports, and what stops it. */
export interface SaveProgress {
  /** Rejects the promise with the signal's reason; what was there before is as it was, and nothing is left behind. */
  readonly signal?: AbortSignal | undefined;
  /** Hears after each piece how many bytes are written, of how many; the last call has both equal. */
  readonly onProgress?: ((written: number, total: number) => void) | undefined;
}

export interface SaveOptions extends SerializeOptions, SaveProgress {
  /**
   * True, the default, writes a new file and renames it, so that the path holds the old file or the new one, whole, at
   * any moment. False writes over the file where it stands, for systems that cannot rename over one.
   */
  readonly atomic?: boolean | undefined;
}

/**
 * Saves tensors as a file, off the event loop and in constant memory. Those of open files are streamed from them: a file may
 * be saved over itself. A write into a mapped view is part of what is saved. Symbolic links are followed. Tensors that
 * share memory are written once for each name, as the format has it.
 * Throws INVALID_TENSOR, INVALID_ARGUMENT, NOT_A_REGULAR_FILE, CLOSED when a source is closed meanwhile, TRUNCATED_DATA,
 * the signal's reason, and the system's errors (ENOSPC, EACCES, ENOENT …).
 */
export async function save(path: string | URL, tensors: TensorInputs, options: SaveOptions = {}): Promise<void> {
  const { signal, onProgress, atomic = true } = options;
  signal?.throwIfAborted();
  const plan = planFile(payloadsOf(tensors), options.metadata, options.alignment);
  const target = await followLinks(pathOf(path));
  const writing = (descriptor: number) =>
    writePlan(descriptor, plan, (written) => {
      onProgress?.(written, plan.byteLength);
      signal?.throwIfAborted();
    });
  if (atomic) {
    await replaceFile(target, writing, () => signal?.throwIfAborted());
  } else {
    await refuseOverSource(target, plan.tensors);
    await overwriteFile(target, writing);
  }
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
async function refuseOverSource(target: Target, payloads: readonly Payload[]): Promise<void> {
  if (target.mode === undefined) return;
  const { dev, ino } = await stat(target.path, { bigint: true });
  for (const path of new Set(payloads.map((payload) => payload.path))) {
    if (path === undefined) continue;
    const status = await stat(path, { bigint: true }).catch(() => undefined);
    if (status?.dev !== dev || status.ino !== ino) continue;
    throw new SafeTensorsError(
      'INVALID_ARGUMENT',
      `${quote(path)} cannot be written in place: tensors that are to be saved come from it`,
      { path },
    );
  }
}

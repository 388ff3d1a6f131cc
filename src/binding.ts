// Owns the loading of the native addon and the declaration of what it exports. Refuses to touch a file itself.

import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

import { SafeTensorsError } from './errors.js';

/** A mapping, held by native code; it means nothing to JavaScript. */
export interface MappingHandle {
  readonly mapping: unique symbol;
}

export interface NativeBinding {
  /** Maps the first `size` bytes of a file; the errno when the system refuses. */
  map(descriptor: number, size: number, readOnly: boolean): MappingHandle | number;
  /** A buffer over [offset, offset + length) of the mapping, which it keeps alive; the Node-API status when refused. */
  segment(handle: MappingHandle, offset: number, length: number): ArrayBuffer | number;
  isReadOnly(handle: MappingHandle): boolean;
  /** Drops the handle's share of the mapping; segments keep theirs. */
  release(handle: MappingHandle): void;
  /**
   * Copies the product of `counts` runs of `runBytes` bytes each to the start of `target`; the first starts at byte
   * `offset` of the mapping, `strides` lead from run to run, in bytes. False when `target` overlaps what is read.
   */
  gather(
    handle: MappingHandle,
    offset: number,
    runBytes: number,
    counts: readonly number[],
    strides: readonly number[],
    target: Uint8Array,
  ): boolean;
  /** False when the runtime refuses. */
  detach(buffer: ArrayBuffer): boolean;
  /** Mappings alive in this process, all threads counted. */
  liveMappings(): number;
  /** Whether the runtime takes buffers over memory that it did not allocate. */
  allowsExternalBuffers(): boolean;
  /** Whether the addon was built with AddressSanitizer. */
  readonly sanitized: boolean;
}

type Load = ((directory: string) => NativeBinding) & { resolve(directory: string): string };

let loaded: NativeBinding | undefined;

/** The addon, loaded when first asked for. Throws BINDING_NOT_FOUND. */
export function nativeBinding(): NativeBinding {
  loaded ??= load();
  return loaded;
}

function load(): NativeBinding {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const find = createRequire(import.meta.url)('node-gyp-build') as Load;
  const directory = process.env.SAFETENSORS_MMAP_PREBUILD ?? root;
  let file: string;
  try {
    file = find.resolve(root);
  } catch (cause) {
    throw new SafeTensorsError(
      'BINDING_NOT_FOUND',
      [
        `the native addon was not found for ${process.platform}-${process.arch} (Node ${process.versions.node}, Node-API ${process.versions.napi ?? 'none'}).`,
        'Looked in:',
        `  ${directory}/build/Release and ${directory}/build/Debug (a build from source)`,
        `  ${directory}/prebuilds/${process.platform}-${process.arch} (the prebuilt addon)`,
        '  the folder of the Node executable',
        'What to do:',
        `  build it: cd ${root} && npx node-gyp rebuild   (needs a C++17 compiler, make and Python 3)`,
        "  or do without it: open(path, { backend: 'read' })",
      ].join('\n'),
      { cause },
    );
  }
  try {
    return createRequire(import.meta.url)(file) as NativeBinding;
  } catch (cause) {
    throw new SafeTensorsError(
      'BINDING_NOT_FOUND',
      `the native addon ${file} does not load: ${cause instanceof Error ? cause.message : String(cause)}.\n` +
        `Build it anew: cd ${root} && npx node-gyp rebuild; or do without it: open(path, { backend: 'read' })`,
      { cause },
    );
  }
}

// Owns the loading of the native addon and the declaration of what it exports. Refuses to touch a file itself.

import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

import { prepareLargeArrays } from './allocation.js';
import type { Dtype } from './dtype.js';
import { SafeTensorsError } from './errors.js';

/** A mapping, held by native code; it means nothing to JavaScript. */
export interface MappingHandle {
  readonly mapping: unique symbol;
}

/** Floats outside of JavaScript's memory. */
export interface FloatsHandle {
  readonly floats: unique symbol;
}

/** A buffer, weakly. */
interface WeakHandle {
  readonly weak: unique symbol;
}

export interface NativeBinding {
  /** Maps the first `size` bytes of a file; the errno when the system refuses. */
  map(descriptor: number, size: number, readOnly: boolean): MappingHandle | number;
  /** A buffer over [offset, offset + length) of the mapping, which it keeps alive; the Node-API status when refused. */
  segment(handle: MappingHandle, offset: number, length: number): ArrayBuffer | number;
  isReadOnly(handle: MappingHandle): boolean;
  /**
   * Reads the pages of ranges [begin, end), [begin, end) … and maps them, on another thread; 0 or the errno: EINVAL where
   * the system cannot, and has been given a hint instead, EFAULT where a touch would raise a signal.
   */
  bringIn(handle: MappingHandle, ranges: readonly number[]): Promise<number>;
  /** Asks for the largest pages for what is yet to be read, on another thread; a hint. */
  askForLargePages(handle: MappingHandle, ranges: readonly number[]): Promise<number>;
  /** Bytes of the ranges that are in memory, as mincore says, and of the page cache alone; -1 where the system does not say. */
  residentBytes(handle: MappingHandle, ranges: readonly number[]): number;
  cachedBytes(descriptor: number, ranges: readonly number[]): number;
  /** Gives whole pages back: those of the mapping that were not written to, those of the cache that nobody has mapped. */
  evict(handle: MappingHandle, ranges: readonly number[]): void;
  dropCached(descriptor: number, ranges: readonly number[]): void;
  /** Whether nobody has written to bytes [at, at + count) of the mapping; false where the system does not say. */
  isUnwritten(handle: MappingHandle, at: number, count: number): boolean;
  /** Drops the handle's share of the mapping; segments keep theirs. With `dropPages`, what was written to them is lost. */
  release(handle: MappingHandle, dropPages: boolean): void;
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
  /** Fills `target` from as many packed elements; false when the two overlap. */
  convert(dtype: Dtype, source: Uint8Array, target: Float32Array): boolean;
  /** The same for runs of a mapping, as `gather` takes them. */
  convertMapped(
    handle: MappingHandle,
    offset: number,
    runBytes: number,
    counts: readonly number[],
    strides: readonly number[],
    dtype: Dtype,
    target: Float32Array,
  ): boolean;
  /** Whether floats lie over bytes [begin, end) of the mapping. */
  overlaps(handle: MappingHandle, begin: number, end: number, floats: Float32Array): boolean;
  /** Memory that threads may write to; null when there is none. */
  allocateFloats(count: number): FloatsHandle | null;
  /** Converts elements [first, first + count) of the runs to [at, at + count) of the floats, on another thread. */
  convertInto(
    handle: MappingHandle,
    offset: number,
    runBytes: number,
    counts: readonly number[],
    strides: readonly number[],
    dtype: Dtype,
    first: number,
    floats: FloatsHandle,
    at: number,
    count: number,
  ): Promise<number>;
  /** Copies [at, at + count) to `target` from `targetAt` on; false when the target is too short by now. */
  copyFloats(floats: FloatsHandle, at: number, count: number, target: Float32Array, targetAt: number): boolean;
  /** A buffer that owns the floats; null when the runtime takes none. The handle is of no use afterwards. */
  exposeFloats(floats: FloatsHandle): ArrayBuffer | null;
  /** Drops the handle's share of the floats; conversions into them that are under way keep theirs. */
  releaseFloats(floats: FloatsHandle): void;
  /** Allocations of floats alive in this process, all threads counted. */
  liveFloats(): number;
  /** Sends bytes of an open file that were written on their way to the disk, by another thread; a hint. */
  startWriteback(descriptor: number, begin: number, length: number): Promise<number>;
  /** Asks for the system's largest pages under an array that nothing was written to yet; a hint. */
  useLargePages(array: ArrayBufferView): void;
  /** The conversion kernel in use, all that this processor runs, and the forcing of one (null: the best). */
  kernel(): string;
  kernels(): string[];
  setKernel(name: string | null): boolean;
  /** False when the runtime refuses. */
  detach(buffer: ArrayBuffer): boolean;
  /** Mappings alive in this process, all threads counted. */
  liveMappings(): number;
  /** Whether the runtime takes buffers over memory that it did not allocate. */
  allowsExternalBuffers(): boolean;
  /** A weak reference, which unlike WeakRef does not keep the buffer to the end of the job that made or asked it. */
  weaken(buffer: ArrayBuffer): WeakHandle;
  /** The buffer, unless it was collected. */
  strengthen(handle: WeakHandle): ArrayBuffer | undefined;
  /** Whether the addon was built with AddressSanitizer. */
  readonly sanitized: boolean;
}

type Load = ((directory: string) => NativeBinding) & { resolve(directory: string): string };

/** `root` is the folder of this package. */
type Finder = { readonly root: string; readonly require: NodeJS.Require; readonly find: Load };

// With the import, like every module: half of what the first open of a process would else wait for. Where a bundler has
// lost it, what needs no addon works all the same.
const finder: Finder | Error = loadFinder();

let loaded: NativeBinding | undefined;
let missing: SafeTensorsError | undefined;

prepareLargeArrays((array) => optionalBinding()?.useLargePages(array));

/** The addon, loaded when first asked for. Throws BINDING_NOT_FOUND. */
export function nativeBinding(): NativeBinding {
  const binding = optionalBinding();
  if (binding === undefined) throw missing!;
  return binding;
}

/** The addon where there is one: for work that can do without. */
export function optionalBinding(): NativeBinding | undefined {
  if (loaded === undefined && missing === undefined) {
    try {
      loaded = load();
    } catch (error) {
      if (!(error instanceof SafeTensorsError)) throw error;
      missing = error;
    }
  }
  return loaded;
}

function loadFinder(): Finder | Error {
  try {
    const root = fileURLToPath(new URL('..', import.meta.url)).replace(/[/\\]$/, '');
    const require = createRequire(import.meta.url);
    return { root, require, find: require('node-gyp-build') as Load };
  } catch (cause) {
    return cause instanceof Error ? cause : new Error(String(cause));
  }
}

function load(): NativeBinding {
  if (finder instanceof Error) {
    throw new SafeTensorsError(
      'BINDING_NOT_FOUND',
      `the native addon was not found: node-gyp-build, which looks for it, does not load: ${finder.message}.\n${whatToDo('node_modules/safetensors-mmap')}`,
      { cause: finder },
    );
  }
  const { root, require, find } = finder;
  let file: string;
  try {
    file = find.resolve(root);
  } catch (cause) {
    const directory = process.env.SAFETENSORS_MMAP_PREBUILD ?? root;
    throw new SafeTensorsError(
      'BINDING_NOT_FOUND',
      [
        `the native addon was not found for ${process.platform}-${process.arch} (Node ${process.versions.node}, Node-API ${process.versions.napi ?? 'none'}).`,
        'Looked in:',
        `  ${directory}/build/Release and ${directory}/build/Debug (a build from source)`,
        `  ${directory}/prebuilds/${process.platform}-${process.arch} (the prebuilt addon)`,
        '  the folder of the Node executable',
        whatToDo(root),
      ].join('\n'),
      { cause },
    );
  }
  try {
    return require(file) as NativeBinding;
  } catch (cause) {
    throw new SafeTensorsError(
      'BINDING_NOT_FOUND',
      `the native addon ${file} does not load: ${cause instanceof Error ? cause.message : String(cause)}.\n${whatToDo(root)}`,
      { cause },
    );
  }
}

function whatToDo(root: string): string {
  return [
    'What to do:',
    '  build it (needs a C++17 compiler, make and Python 3):',
    `    npm install node-addon-api && npx node-gyp rebuild -C ${root}/native`,
    "  or do without it: open(path, { backend: 'read' })",
  ].join('\n');
}

// Owns the types of the doors: what they take and return, and which options they refuse. Compiled, never run.
// Refuses views (views.test-d.ts).

import { expectTypeOf } from 'vitest';
import {
  type Backend,
  type ErrorCode,
  type Header,
  type OpenOptions,
  open,
  openModel,
  openSync,
  type Protection,
  parse,
  readHeader,
  type SafeTensors,
  SafeTensorsError,
  type SafeTensorsModel,
} from '../../src/index.js';

type Opening = (path: string | URL, options?: OpenOptions) => void;
expectTypeOf<Parameters<typeof open>>().toEqualTypeOf<Parameters<Opening>>();
expectTypeOf(openSync).returns.toEqualTypeOf<SafeTensors>();
expectTypeOf(open).returns.resolves.toEqualTypeOf<SafeTensors>();
expectTypeOf(openModel).returns.resolves.toEqualTypeOf<SafeTensorsModel>();
expectTypeOf(readHeader).returns.resolves.toEqualTypeOf<Header>();
expectTypeOf(parse).returns.toEqualTypeOf<SafeTensors>();
expectTypeOf<Uint8Array | ArrayBuffer | SharedArrayBuffer | Buffer>().toExtend<Parameters<typeof parse>[0]>();
expectTypeOf<SafeTensors['backend']>().toEqualTypeOf<Backend>();
expectTypeOf<SafeTensors['protection']>().toEqualTypeOf<Protection | undefined>();

export const allowed: OpenOptions[] = [
  {},
  { backend: 'mmap', protection: 'copy-on-write', misaligned: 'copy', maxHeaderLength: 1 },
  { backend: 'read', protection: 'read-only', misaligned: 'view' },
  // With exactOptionalPropertyTypes, undefined has to be allowed by name: options are often passed through.
  { backend: undefined, protection: undefined, misaligned: 'error', maxHeaderLength: undefined },
];

export function refusals(): void {
  // @ts-expect-error: parse() makes this backend; nobody asks for it
  openSync('a', { backend: 'memory' });
  // @ts-expect-error: no such protection
  openSync('a', { protection: 'write' });
  // @ts-expect-error: no such mode
  openSync('a', { misaligned: 'throw' });
  // @ts-expect-error: a number
  openSync('a', { maxHeaderLength: '1' });
  // @ts-expect-error: no such option
  openSync('a', { mmap: true });
  // @ts-expect-error: reading a header maps nothing
  readHeader('a', { backend: 'read' });
  // @ts-expect-error: no descriptors
  openSync(3);
  // @ts-expect-error: a path is not a file
  parse('a');
  // @ts-expect-error: bytes of four are no bytes
  parse(new Float32Array(1));
}

export function errors(error: unknown): ErrorCode | undefined {
  if (!(error instanceof SafeTensorsError)) return undefined;
  expectTypeOf(error).toExtend<Error>();
  expectTypeOf(error.tensor).toEqualTypeOf<string | undefined>();
  expectTypeOf(error.isFormatError).toEqualTypeOf<boolean>();
  // @ts-expect-error: no such code
  if (error.code === 'ENOENT') return undefined;
  return error.code;
}

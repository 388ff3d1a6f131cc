// Owns the one demand on the host: files are little-endian, and views give their bytes to the processor as they are.

import { endianness } from 'node:os';

import { SafeTensorsError } from './errors.js';

/** Throws UNSUPPORTED_HOST on a big-endian machine, where every view would hold wrong values. */
export function requireLittleEndian(order: 'LE' | 'BE' = endianness()): void {
  if (order === 'LE') return;
  throw new SafeTensorsError(
    'UNSUPPORTED_HOST',
    'safetensors files are little-endian and this machine is big-endian: zero-copy views would hold wrong values',
  );
}

requireLittleEndian();

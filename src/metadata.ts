// Owns the reading of `__metadata__`: an object of strings, each key once. Refuses every other value but null.

import { quote, SafeTensorsError } from './errors.js';
import { decodeString, OPEN_BRACE, QUOTE, skipString, skipValue, walkObject } from './json.js';

/** The one name in a header that is no tensor's. */
export const METADATA_KEY = '__metadata__';

/** Reads the value of `__metadata__` at a position; returns the position after it. Throws INVALID_METADATA, DUPLICATE_KEY. */
export function readMetadata(bytes: Uint8Array, position: number, into: Map<string, string>): number {
  if (bytes[position] === 0x6e) return skipValue(bytes, position, 1); // null
  if (bytes[position] !== OPEN_BRACE) {
    skipValue(bytes, position, 1);
    throw new SafeTensorsError('INVALID_METADATA', `${METADATA_KEY} is not an object`);
  }
  return walkObject(bytes, position, (keyBegin, keyEnd, value) => {
    const key = decodeString(bytes, keyBegin, keyEnd);
    if (into.has(key)) {
      throw new SafeTensorsError('DUPLICATE_KEY', `the key ${quote(key)} stands twice in ${METADATA_KEY}`);
    }
    if (bytes[value] !== QUOTE) {
      skipValue(bytes, value, 2);
      throw new SafeTensorsError('INVALID_METADATA', `the value of ${quote(key)} in ${METADATA_KEY} is not a string`);
    }
    const end = skipString(bytes, value);
    into.set(key, decodeString(bytes, value, end));
    return end;
  });
}

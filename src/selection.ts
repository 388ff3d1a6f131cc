// Owns the choice of tensors by name, as the ranges of a file that they take. Refuses names that the file does not have.

import { SafeTensorsError } from './errors.js';
import type { Header } from './header.js';

/** Names of tensors: one, several, or all where there is none. */
export type TensorNames = string | Iterable<string>;

/** Twice what a header of the usual limit can hold: an iterable that goes on and on must not take all memory. */
const MOST_NAMES = 2 ** 22;

/** The names given, read once; undefined for all. Throws INVALID_ARGUMENT, and what the iterable throws. */
export function namesOf(names: TensorNames | undefined): string[] | undefined {
  if (names === undefined) return undefined;
  if (typeof names === 'string') return [names];
  const iterates = typeof names === 'object' && names !== null && typeof names[Symbol.iterator] === 'function';
  if (!iterates)
    throw invalid('names are a string or an iterable of strings, undefined for all; options come after them');
  const list: string[] = [];
  for (const name of names) {
    if (typeof name !== 'string') throw invalid(`a tensor's name is a string, not ${typeof name}`);
    if (list.length === MOST_NAMES) throw invalid(`names are at most ${MOST_NAMES}, and the iterable has more`);
    list.push(name);
  }
  return list;
}

/**
 * Ranges [begin, end), [begin, end) … of the file in ascending order, neighbours as one, of the tensors named. Throws
 * TENSOR_NOT_FOUND.
 */
export function rangesOf(header: Header, names: readonly string[] | undefined): number[] {
  const { dataOffset, size } = header;
  const ranges: number[] = [];
  if (names === undefined) {
    const end = size === 0 ? 0 : header.endAt(size - 1);
    return end === 0 ? [] : [dataOffset, dataOffset + end];
  }
  const positions = Float64Array.from(names, (name) => header.requirePosition(name)).sort();
  for (const position of positions) {
    const begin = dataOffset + header.beginAt(position);
    const end = dataOffset + header.endAt(position);
    if (begin === end || end <= (ranges.at(-1) ?? 0)) continue; // empty, or named twice
    if (ranges.at(-1) === begin) ranges[ranges.length - 1] = end;
    else ranges.push(begin, end);
  }
  return ranges;
}

/**
 * The ranges as they are given back: with the first tensor goes the header before it, which nothing reads again, and with
 * which it shares a page.
 */
export function evictableOf(header: Header, names: readonly string[] | undefined): number[] {
  const ranges = rangesOf(header, names);
  if (ranges[0] === header.dataOffset) ranges[0] = 0;
  return ranges;
}

function invalid(message: string): SafeTensorsError {
  return new SafeTensorsError('INVALID_ARGUMENT', message);
}

// Owns what tells one file from another: its place, by whatever name it goes, and its identity, which a change ends.
// Refuses to look at a disk: it is given what the system says of an open file.

import type { BigIntStats } from 'node:fs';

import type { Header } from './header.js';
import type { Source } from './source.js';

/** Device and inode. */
export type FilePlace = string;

/** Place, size and time of the last change. */
export type FileIdentity = string;

/** Of the files that headers were read from, and that are mapped. */
const places = new WeakMap<Header | Source, FilePlace>();

/** The place of the file that a header was read from, or a mapping made of; undefined after parse(). */
export function placeOf(origin: Header | Source): FilePlace | undefined {
  return places.get(origin);
}

/** Remembers the place of a file. */
export function setPlace(origin: Header | Source, place: FilePlace): void {
  places.set(origin, place);
}

/** @internal The place of a file by its status. */
export function placeBy({ dev, ino }: BigIntStats): FilePlace {
  return `${dev}:${ino}`;
}

/** @internal The identity of a file by its status. */
export function identityBy({ dev, ino, size, mtimeNs }: BigIntStats): FileIdentity {
  return [dev, ino, size, mtimeNs].join(':');
}

// Owns which metadata goes along when an open file or model is saved without any being named. Refuses to merge: of several
// shards only what all of them say is said of the whole.

import { SafeTensorsModel } from './model.js';
import { SafeTensors } from './safetensors.js';

/** The metadata of what is to be saved, where that is an open file or model; undefined for other tensors. */
export function keptMetadata(tensors: unknown): ReadonlyMap<string, string> | undefined {
  const found = tensors instanceof SafeTensorsModel ? sharedBy(tensors) : metadataOf(tensors);
  // A file without any is saved without any, not with an empty one.
  return found?.size === 0 ? undefined : found;
}

function metadataOf(tensors: unknown): ReadonlyMap<string, string> | undefined {
  return tensors instanceof SafeTensors ? tensors.metadata : undefined;
}

function sharedBy(model: SafeTensorsModel): ReadonlyMap<string, string> {
  const [first, ...others] = model.shards.map(({ header }) => header.metadata);
  return new Map([...(first ?? [])].filter(([key, value]) => others.every((other) => other.get(key) === value)));
}

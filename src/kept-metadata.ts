// Owns which metadata goes along when an open file or model is saved without any being named. Refuses to merge: of several
// shards only what all of them say is said of the whole.

import { SafeTensorsModel } from './model.js';
import { SafeTensors } from './safetensors.js';

/** The metadata of what is to be saved, where that is an open file or model; undefined for other tensors. */
export function keptMetadata(tensors: unknown): ReadonlyMap<string, string> | undefined {
  if (tensors instanceof SafeTensors) return tensors.metadata;
  if (!(tensors instanceof SafeTensorsModel)) return undefined;
  const [first, ...others] = tensors.shards.map(({ header }) => header.metadata);
  return new Map([...(first ?? [])].filter(([key, value]) => others.every((other) => other.get(key) === value)));
}

// Owns the ways in which a user can give a buffer away, each as far as the runtime lets it.
// Refuses to judge: a runtime may move the memory, copy it, or throw.

import { MessageChannel, markAsUntransferable } from 'node:worker_threads';
import { nativeBinding } from '../../src/binding.js';

/** Gives a buffer away; resolves to where its bytes are now, or undefined when the runtime refused. */
type Handover = (buffer: ArrayBuffer) => ArrayBuffer | undefined | Promise<ArrayBuffer | undefined>;

function attempt(run: () => ArrayBuffer): ArrayBuffer | undefined {
  try {
    return run();
  } catch {
    return undefined; // DataCloneError or TypeError: this runtime does not move such memory
  }
}

function post(buffer: ArrayBuffer): Promise<ArrayBuffer | undefined> {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    const end = (received: ArrayBuffer | undefined) => {
      port1.close();
      resolve(received);
    };
    port2.once('message', end);
    try {
      port1.postMessage(buffer, [buffer]);
    } catch {
      end(undefined);
    }
  });
}

// Node 20 does not have it.
const transfer: ((this: ArrayBuffer) => ArrayBuffer) | undefined = Reflect.get(ArrayBuffer.prototype, 'transfer');

export const HANDOVERS: Readonly<Record<string, Handover>> = {
  structuredClone: (buffer) => attempt(() => structuredClone(buffer, { transfer: [buffer] })),
  postMessage: post,
  'ArrayBuffer.prototype.transfer': (buffer) =>
    transfer === undefined ? undefined : attempt(() => transfer.call(buffer)),
  // What a transfer does to the old buffer, where the runtime has none that works on such memory.
  'the addon’s own detach': (buffer) => {
    nativeBinding().detach(buffer);
    return undefined;
  },
  markAsUntransferable: (buffer) => {
    markAsUntransferable(buffer);
    return undefined;
  },
  'markAsUntransferable and structuredClone': (buffer) => {
    markAsUntransferable(buffer);
    return attempt(() => structuredClone(buffer, { transfer: [buffer] }));
  },
};

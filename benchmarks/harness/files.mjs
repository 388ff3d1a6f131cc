// Owns the making of test files: headers as language models have them, data that differs everywhere and holds no NaN.
// Refuses the library's own writer: what is measured must not make what it is measured on.
import { closeSync, fdatasyncSync, ftruncateSync, openSync, writeSync } from 'node:fs';

const MiB = 2 ** 20;

/** Sizes of the header's prefix. */
const PREFIX = 8;

/**
 * A tensor to be made.
 * @typedef {{ name: string, dtype: 'F32' | 'F16' | 'BF16' | 'F8_E4M3', shape: number[] }} Wanted
 */

/**
 * A file that was made. Offsets are the file's, not the data section's.
 * @typedef {object} Made
 * @property {string} path
 * @property {number} headerLength
 * @property {number} dataOffset a multiple of 64, as is the begin of every tensor of a multiple of 64 bytes
 * @property {number} byteLength
 * @property {{ name: string, begin: number, end: number, shape: number[] }[]} tensors
 */

const BYTES = { F32: 4, F16: 2, BF16: 2, F8_E4M3: 1 };

const LAYER = /** @type {const} */ ([
  ['self_attn.q_proj.weight', [1024, 1024]],
  ['self_attn.k_proj.weight', [1024, 1024]],
  ['self_attn.v_proj.weight', [1024, 1024]],
  ['self_attn.o_proj.weight', [1024, 1024]],
  ['mlp.gate_proj.weight', [3584, 1024]],
  ['mlp.up_proj.weight', [3584, 1024]],
  ['mlp.down_proj.weight', [1024, 3584]],
  ['input_layernorm.weight', [1024]],
  ['post_attention_layernorm.weight', [1024]],
]);

/**
 * The tensors of a language model, of a small one: 500,000 of a large one would pass the longest file of ext4.
 * @param {number} count
 * @returns {Wanted[]}
 */
export function languageModel(count) {
  return Array.from({ length: count }, (_, i) => {
    const [name, shape] = /** @type {typeof LAYER[number]} */ (LAYER[i % LAYER.length]);
    return { name: `model.layers.${Math.floor(i / LAYER.length)}.${name}`, dtype: 'BF16', shape: [...shape] };
  });
}

/**
 * So many F32 tensors of the same length.
 * @param {number} count
 * @param {number} byteLength of each, a multiple of 64
 * @param {string} [prefix]
 * @returns {Wanted[]}
 */
export function equalTensors(count, byteLength, prefix = 'model.layers') {
  return Array.from({ length: count }, (_, i) => ({
    name: `${prefix}.${i}.mlp.down_proj.weight`,
    dtype: 'F32',
    shape: [byteLength / 256, 64],
  }));
}

/**
 * A tensor of a file that was made.
 * @param {Made} made
 * @param {number} index from 0
 */
export function tensorOf({ tensors }, index) {
  const tensor = tensors[index];
  if (tensor === undefined) throw new RangeError(`no tensor ${index} of ${tensors.length}`);
  return tensor;
}

/**
 * The header's bytes and where its tensors come to lie.
 * @param {readonly Wanted[]} wanted
 * @param {boolean} [metadata]
 */
function layOut(wanted, metadata = false) {
  let at = 0;
  const ranges = wanted.map(({ dtype, shape }) => {
    const begin = at;
    at += shape.reduce((product, size) => product * size, BYTES[dtype]);
    return { begin, end: at };
  });
  const entries = wanted.map(({ name, dtype, shape }, i) => {
    const { begin, end } = /** @type {{ begin: number, end: number }} */ (ranges[i]);
    return `"${name}":{"dtype":"${dtype}","shape":[${shape.join(',')}],"data_offsets":[${begin},${end}]}`;
  });
  // By default without, since one of the contenders cannot open a file that has it.
  if (metadata) entries.unshift('"__metadata__":{"format":"pt"}');
  const text = `{${entries.join(',')}}`;
  const header = Buffer.from(text.padEnd(Math.ceil((text.length + PREFIX) / 64) * 64 - PREFIX));
  return { header, ranges, dataLength: at };
}

// Each byte without two of its bits: no exponent of F32, F16, BF16 or E4M3 is then all ones. Odd in length of pieces, so
// that no two pieces of a file are alike.
let block = Buffer.alloc(0);
const BLOCK = 33 * MiB;

function randomBlock() {
  if (block.length > 0) return block;
  block = Buffer.allocUnsafeSlow(BLOCK);
  const words = new Uint32Array(block.buffer);
  let state = 1;
  for (let i = 0; i < words.length; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    words[i] = state & 0xbbbbbbbb;
  }
  return block;
}

/**
 * Makes a file, written back to the disk and cached in the state that the pieces leave it in.
 * @param {string} path
 * @param {readonly Wanted[]} wanted
 * @param {{ piece?: number, sparse?: boolean, metadata?: boolean }} [options] `piece`: bytes of each write, 4 MiB by default. `sparse`: the
 *   data is a hole
 * @returns {Made}
 */
export function makeFile(path, wanted, { piece = 4 * MiB, sparse = false, metadata = false } = {}) {
  const { header, ranges, dataLength } = layOut(wanted, metadata);
  const dataOffset = PREFIX + header.length;
  const descriptor = openSync(path, 'w');
  try {
    const prefix = Buffer.alloc(PREFIX);
    prefix.writeBigUInt64LE(BigInt(header.length));
    // In one write: the data then starts within a page that is in memory, and no piece waits for a read.
    writeSync(descriptor, Buffer.concat([prefix, header]));
    if (sparse) {
      ftruncateSync(descriptor, dataOffset + dataLength);
    } else {
      const source = randomBlock();
      let from = (header.length * 64) % MiB;
      for (let at = 0; at < dataLength; ) {
        const length = Math.min(piece, dataLength - at, source.length - from);
        writeSync(descriptor, source, from, length);
        at += length;
        from = from + length + 64 > source.length ? 0 : from + length;
      }
      fdatasyncSync(descriptor);
    }
  } finally {
    closeSync(descriptor);
  }
  const tensors = wanted.map(({ name, shape }, i) => {
    const { begin, end } = /** @type {{ begin: number, end: number }} */ (ranges[i]);
    return { name, shape, begin: dataOffset + begin, end: dataOffset + end };
  });
  return { path, headerLength: header.length, dataOffset, byteLength: dataOffset + dataLength, tensors };
}

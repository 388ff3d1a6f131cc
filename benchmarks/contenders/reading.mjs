// Owns what people write without a library: JSON.parse and node:fs, as fast as we could make it.
// Refuses the library. Validation is what a careful program would check; the library's rules are more.
import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { open } from 'node:fs/promises';

import { inRounds, now, planOf, sumWords, warmUp } from './clock.mjs';
import { firstWord, memory } from './ours.mjs';
import { validate } from './validation.mjs';

const PREFIX = 8;
/** The header's bytes; the data follows them. */
function headerBytes(descriptor) {
  const prefix = Buffer.alloc(PREFIX);
  readSync(descriptor, prefix, 0, PREFIX, 0);
  const bytes = Buffer.allocUnsafeSlow(Number(prefix.readBigUInt64LE()));
  readSync(descriptor, bytes, 0, bytes.length, PREFIX);
  return bytes;
}

/** Tensors of a descriptor by name, with offsets of the file. */
function tensorsOf(descriptor) {
  const bytes = headerBytes(descriptor);
  const { __metadata__: _, ...tensors } = JSON.parse(bytes.toString());
  return { tensors, dataOffset: PREFIX + bytes.length };
}

const lengthOf = (names) => names.reduce((sum, name) => sum + name.length, 0);

/** readSync, JSON.parse, validation, the names. */
export function list({ path, ...rest }) {
  return inRounds(planOf(rest), () => {
    const start = now();
    const descriptor = openSync(path);
    const { tensors, dataOffset } = tensorsOf(descriptor);
    validate(tensors, fstatSync(descriptor).size - dataOffset);
    closeSync(descriptor);
    const checksum = lengthOf(Object.keys(tensors));
    return { checksum, ns: now() - start };
  });
}

/** JSON.parse of a header that is in memory: no file, no rule, no names. */
export function parseAlone({ path, ...rest }) {
  const descriptor = openSync(path);
  const bytes = headerBytes(descriptor);
  closeSync(descriptor);
  return inRounds(planOf(rest), () => {
    const start = now();
    const tree = JSON.parse(bytes.toString());
    const ns = now() - start;
    delete tree.__metadata__;
    return { checksum: lengthOf(Object.keys(tree)), ns };
  });
}

/** Bytes that JSON.parse's tree keeps alive. */
export function retained({ path }) {
  const { collect, usage } = memory();
  const parse = () => {
    const descriptor = openSync(path);
    const bytes = headerBytes(descriptor);
    closeSync(descriptor);
    return JSON.parse(bytes.toString());
  };
  collect();
  const before = usage();
  const tree = parse();
  collect();
  const value = usage() - before;
  return { value, checksum: Object.keys(tree).length - 1 };
}

/** Reads all of some files by readSync into memory of 1 GiB; the tensor at the start of the first is what was wanted. */
export function everything({ paths, length: wanted }) {
  const buffer = Buffer.allocUnsafeSlow(2 ** 30);
  const start = now();
  let checksum = 0;
  for (const path of paths) {
    const descriptor = openSync(path);
    const { size } = fstatSync(descriptor);
    const { dataOffset } = tensorsOf(descriptor);
    for (let at = dataOffset; at < size; at += buffer.length) {
      const length = readSync(descriptor, buffer, 0, Math.min(buffer.length, size - at), at);
      if (length === 0) throw new Error('the file ends early');
      if (path === paths[0] && at === dataOffset) checksum = sumWords(buffer.subarray(0, wanted), 64);
    }
    closeSync(descriptor);
  }
  return { value: now() - start, checksum };
}

/** fs.readFile of the file with the tensor. */
export function wholeFile({ path, offset, length }) {
  const start = now();
  const bytes = readFileSync(path);
  const checksum = sumWords(bytes.subarray(offset, offset + length), 64);
  return { value: now() - start, checksum };
}

/** The header, then the range of one tensor. */
export function firstTensor({ path, name, ...rest }) {
  return inRounds(planOf(rest), () => {
    const start = now();
    const descriptor = openSync(path);
    const { tensors, dataOffset } = tensorsOf(descriptor);
    const bytes = readRange(descriptor, dataOffset, tensors[name]);
    closeSync(descriptor);
    return { checksum: sumWords(bytes, 64), ns: now() - start };
  });
}

function readRange(descriptor, dataOffset, { data_offsets: [begin, end] }) {
  const bytes = Buffer.allocUnsafeSlow(end - begin);
  if (readSync(descriptor, bytes, 0, bytes.length, dataOffset + begin) !== bytes.length) throw new Error('short read');
  return bytes;
}

/** A small tensor of a file that is not in memory. */
export function oneTensor({ path, warm, warmName, name }) {
  const run = (file, tensor) => {
    const start = now();
    const descriptor = openSync(file);
    const { tensors, dataOffset } = tensorsOf(descriptor);
    const checksum = sumWords(readRange(descriptor, dataOffset, tensors[tensor]), 64);
    closeSync(descriptor);
    return { value: now() - start, checksum };
  };
  for (let i = 0; i < 100; i++) run(warm, warmName);
  return run(path, name);
}

/** Every tensor read into memory of its own, and its first word. */
export function views({ path, ...rest }) {
  return inRounds(planOf(rest), () => {
    const start = now();
    const descriptor = openSync(path);
    const { tensors, dataOffset } = tensorsOf(descriptor);
    const kept = [];
    let checksum = 0;
    for (const name of Object.keys(tensors)) {
      const bytes = readRange(descriptor, dataOffset, tensors[name]);
      checksum = (checksum + firstWord(bytes)) | 0;
      kept.push(new Float32Array(bytes.buffer));
    }
    closeSync(descriptor);
    return { checksum, ns: now() - start };
  });
}

/** Every tensor by readSync: into memory of its own, or into the same again and again; or all by fs.readFile. */
export function pass({ path, step, into }) {
  warmUp();
  const descriptor = openSync(path);
  const longest = Math.max(...Object.values(tensorsOf(descriptor).tensors).map(lengthOfTensor));
  const reused = into === 'reused' ? Buffer.allocUnsafeSlow(longest).fill(1) : undefined;
  closeSync(descriptor);
  const start = now();
  let checksum = 0;
  if (into === 'whole') {
    const bytes = readFileSync(path);
    const data = bytes.subarray(PREFIX + Number(bytes.readBigUInt64LE()));
    checksum = sumWords(data, step);
  } else {
    const file = openSync(path);
    const { tensors, dataOffset } = tensorsOf(file);
    for (const tensor of Object.values(tensors)) {
      const length = lengthOfTensor(tensor);
      const bytes = reused?.subarray(0, length) ?? Buffer.allocUnsafeSlow(length);
      if (readSync(file, bytes, 0, length, dataOffset + tensor.data_offsets[0]) !== length)
        throw new Error('short read');
      checksum = (checksum + sumWords(bytes, step)) | 0;
    }
    closeSync(file);
  }
  return { value: now() - start, checksum };
}

const lengthOfTensor = ({ data_offsets: [begin, end] }) => end - begin;

/** All data in pieces by fs.promises, several at a time, each into a buffer that is used again. */
export async function pieces({ path, step, piece, concurrent }) {
  warmUp();
  const start = now();
  const file = await open(path);
  const prefix = Buffer.alloc(PREFIX);
  await file.read(prefix, 0, PREFIX, 0);
  const dataOffset = PREFIX + Number(prefix.readBigUInt64LE());
  const { size } = await file.stat();
  let next = dataOffset;
  let checksum = 0;
  const reader = async () => {
    const buffer = Buffer.allocUnsafeSlow(piece);
    while (next < size) {
      const at = next;
      const length = Math.min(piece, size - at);
      next += piece;
      const { bytesRead } = await file.read(buffer, 0, length, at);
      if (bytesRead !== length) throw new Error('short read');
      checksum = (checksum + sumWords(buffer.subarray(0, length), step)) | 0;
    }
  };
  await Promise.all(Array.from({ length: concurrent }, reader));
  await file.close();
  return { value: now() - start, checksum };
}

/** The first columns of a matrix of 16-bit numbers, a read for each row, into memory that is used again. */
export function columns({ path, name, part, ...rest }) {
  let target;
  return inRounds(planOf(rest), () => {
    const start = now();
    const descriptor = openSync(path);
    const { tensors, dataOffset } = tensorsOf(descriptor);
    const {
      shape: [rows, width],
      data_offsets: [begin],
    } = tensors[name];
    const length = (width * 2) / part;
    target ??= Buffer.allocUnsafeSlow(rows * length).fill(1);
    for (let row = 0; row < rows; row++) {
      readSync(descriptor, target, row * length, length, dataOffset + begin + row * width * 2);
    }
    closeSync(descriptor);
    const ns = now() - start;
    return { checksum: sumWords(target, 64), ns };
  });
}

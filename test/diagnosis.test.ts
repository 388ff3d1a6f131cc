// Owns the guesses at what a wrong file really is, through the doors that give them.
// Refuses to test the checks that fail first.

import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { DIAGNOSIS_LENGTH, diagnose } from '../src/diagnosis.js';
import { open, openSync, parse, readHeader } from '../src/index.js';
import { fileOf, scratch, withHeader } from './support/files.js';
import { randomFile } from './support/headers.js';
import { failureOf } from './support/outcome.js';

const folder = scratch();
afterAll(() => folder.remove());

const latin1 = (text: string) => Buffer.from(text, 'latin1');

/** At least as long as a file must be to get past its first check. */
const padded = (text: string) => latin1(text.padEnd(64, '\x01'));

const LFS = `version https://git-lfs.github.com/spec/v1\noid sha256:${'0'.repeat(64)}\nsize 438955544\n`;

const WRONG: [what: string, file: Uint8Array, guess: RegExp][] = [
  ['nothing', new Uint8Array(0), /the file is empty; /],
  ['a Git LFS pointer', latin1(LFS), /Git LFS pointer \(to 438955544 bytes\): run git lfs pull; /],
  ['a Git LFS pointer without a size', latin1(LFS.slice(0, 80)), /Git LFS pointer: run git lfs pull; /],
  ['zeros', new Uint8Array(4096), /first 512 bytes are all zero/],
  ['zeros and then data', Buffer.concat([new Uint8Array(100), Buffer.alloc(100, 1)]), /first 100 bytes are all zero/],
  ['a PyTorch checkpoint', padded('PK\x03\x04'), /zip archive, probably a PyTorch checkpoint.*convert it/],
  ['an old PyTorch checkpoint', padded('\x80\x02\x8a\x0a'), /Python pickle, probably an old PyTorch checkpoint/],
  ['a pickle of protocol 3', padded('\x80\x03}'), /Python pickle/],
  ['a pickle of protocol 4', padded('\x80\x04\x95'), /Python pickle/],
  ['a pickle of protocol 5', padded('\x80\x05\x95'), /Python pickle/],
  ['a GGUF model', padded('GGUF\x03\0\0\0'), /GGUF/],
  ['a NumPy array', padded('\x93NUMPY\x01\0'), /NumPy/],
  ['a Keras model', padded('\x89HDF\r\n\x1a\n'), /HDF5/],
  ['gzip', padded('\x1f\x8b\x08'), /gzip/],
  ['zstd', padded('\x28\xb5\x2f\xfd'), /zstd/],
  ['an HTML page', latin1('<!DOCTYPE html>\n<html><head><title>Sign in</title>'), /HTML page/],
  ['an HTML page after white space', latin1('\n\n  <html lang="en"><head></head></html>'), /HTML page/],
  ['XML', latin1('<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>'), /XML/],
  ['the error of a server', latin1('{"error":"Repository not found"}'), /JSON text, often the error message/],
  ['an empty object', latin1('{}      '), /JSON text/],
  [
    'an index',
    latin1('{"weight_map":{"a":"model-1.safetensors"}}'),
    /index of a sharded model: open it with openModel/,
  ],
  ['an index with its size', latin1('{\n  "metadata": {\n    "total_size": 12\n  },'), /index of a sharded model/],
];

describe('a file that is really', () => {
  it.each(WRONG)('%s is said to be by every door', async (what, file, guess) => {
    const path = folder.write(what.replaceAll(' ', '_'), file);
    for (const door of [() => parse(file), () => openSync(path), () => open(path), () => readHeader(path)]) {
      const failure = await failureOf(door);
      expect(failure.isFormatError).toBe(true);
      expect(failure.message).toMatch(guess);
    }
  });
});

describe('a guess', () => {
  it('is not made of a header that merely breaks a rule', async () => {
    const file = withHeader('{"a":{"dtype":"F33","shape":[],"data_offsets":[0,0]}}');
    expect(diagnose(file, file.length)).toBeUndefined();
    const { message } = await failureOf(() => parse(file));
    expect(message).toBe('tensor "a" has the dtype "F33", which is none of the format\'s');
  });

  it('is not made of a header as long as the letters of another format', () => {
    // The length of a header begins with the bytes of a brace and a quote; its eighth byte is 0.
    const length = Buffer.from('{"\0\0\0\0\0\0').readUIntLE(0, 6);
    expect(diagnose(withHeader(' '.repeat(length)), 8 + length)).toBeUndefined();
  });

  it('of a truncated download gives the missing bytes, and no other reason', async () => {
    const whole = fileOf([{ name: 'a', dtype: 'F32', shape: [1000] }]);
    const { code, message } = await failureOf(() => parse(whole.slice(0, -1234)));
    expect(code).toBe('TRUNCATED_DATA');
    expect(message).toMatch(/1234 bytes are missing, as after an interrupted download$/);
  });

  it('never fails itself, and never looks beyond its length', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: DIAGNOSIS_LENGTH }), fc.nat(), (prefix, more) => {
        const guess = diagnose(prefix, prefix.length + more);
        expect(guess === undefined || guess.length > 0).toBe(true);
      }),
    );
  });

  it.each(['', '\n\t '])('is not made of a header whose length reads as a pickle, after %j', async (space) => {
    const header = `${space}{"a":{"dtype":"U8","shape":[9],"data_offsets":[0,9]}}`.padEnd(0x280);
    const { code, message } = await failureOf(() => parse(withHeader(header, Buffer.alloc(4))));
    expect([code, message]).toEqual(['TRUNCATED_DATA', expect.not.stringContaining('pickle')]);
  });

  it('is not made of valid files', () => {
    fc.assert(
      fc.property(randomFile, ({ file }) => {
        expect(diagnose(file.subarray(0, DIAGNOSIS_LENGTH), file.length)).toBeUndefined();
      }),
    );
  });
});

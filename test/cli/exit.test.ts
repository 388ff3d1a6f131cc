// Owns which exit code and which line each kind of failure becomes.
// Refuses processes.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EXIT, failureOf } from '../../src/cli/exit.js';
import { SafeTensorsError } from '../../src/errors.js';
import { UNSAFE } from './files.js';

const systemError = (code: string, message: string) => Object.assign(new Error(message), { code });

describe('failureOf', () => {
  it('gives 1 for a file that breaks the format, with its path and the code', () => {
    const error = new SafeTensorsError('TRUNCATED_DATA', '5 bytes are missing', {
      path: 'a.safetensors',
      isFormatError: true,
    });
    expect(failureOf(error)).toEqual({
      exitCode: EXIT.format,
      line: 'safetensors: a.safetensors: 5 bytes are missing (TRUNCATED_DATA)\n',
    });
  });

  it('gives 3 for what is no file of ours at all', () => {
    const error = new SafeTensorsError('NOT_A_REGULAR_FILE', '"x" is a directory', { path: 'x' });
    expect(failureOf(error)).toEqual({
      exitCode: EXIT.unreadable,
      line: 'safetensors: "x" is a directory (NOT_A_REGULAR_FILE)\n',
    });
  });

  it('gives 3 for what the system refuses, and says the code once', () => {
    expect(failureOf(systemError('EACCES', 'EACCES: permission denied, open x'))).toEqual({
      exitCode: EXIT.unreadable,
      line: 'safetensors: EACCES: permission denied, open x\n',
    });
    expect(failureOf(systemError('ERR_FS_FILE_TOO_LARGE', 'too large')).line).toBe(
      'safetensors: too large (ERR_FS_FILE_TOO_LARGE)\n',
    );
  });

  it('gives 70 for a defect of the program', () => {
    expect(failureOf(new TypeError('x is not a function')).exitCode).toBe(EXIT.internal);
    expect(failureOf('thrown text').exitCode).toBe(EXIT.internal);
  });

  it('is one printable line, whatever the message', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (message, path) => {
        const { line } = failureOf(new SafeTensorsError('INVALID_METADATA', message, { path }));
        expect(line).not.toMatch(UNSAFE);
        expect(line.indexOf('\n')).toBe(line.length - 1);
      }),
    );
  });
});

// Owns the command line of the server. Refuses to start one.

import { expect, it } from 'vitest';
import { readArguments, UsageError } from '../../../examples/server/arguments.js';

it('takes directories, with names or without', () => {
  expect(readArguments(['a/b/', 'x.y-1=c=d', 'a/c=d'])).toEqual({
    host: '127.0.0.1',
    port: 8080,
    models: [
      { name: 'b', directory: 'a/b/' },
      { name: 'x.y-1', directory: 'c=d' },
      { name: 'c=d', directory: 'a/c=d' },
    ],
  });
  expect(readArguments(['--port', '0', '--host', '::1', 'a'])).toMatchObject({ host: '::1', port: 0 });
  expect(readArguments(['--help'])).toBeUndefined();
});

it.each([
  [[], /^name a directory of a model/],
  [['--port', '70000', 'a'], /^--port is 70000, not 0 to 65535/],
  [['--port', '', 'a'], /^--port is , not/],
  [['--port', '1e3', 'a'], /^--port is 1e3, not/],
  [['--nonsense', 'a'], /^Unknown option '--nonsense'/],
  [['/'], /^"" is no name for a model; name it NAME=DIRECTORY/],
  [['..=a'], /^".." is no name/],
  [['x/a', 'y/a'], /^two models are called "a"; name them NAME=DIRECTORY/],
])('refuses %j', (args, message) => {
  expect(() => readArguments(args)).toThrow(UsageError);
  expect(() => readArguments(args)).toThrow(message);
});

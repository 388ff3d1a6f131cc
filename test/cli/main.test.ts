// Owns the command as a shell meets it: exit codes, which stream says what, hostile files.
// Refuses the details of what is printed, and pipes and terminals: streams.test.ts.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { fileOf, scratch, UNSAFE, withHeader } from './files.js';
import { makeFifo, safetensors } from './run.js';

// Each test starts a process or two; a busy machine takes its time over that.
vi.setConfig({ testTimeout: 60_000 });

const directory = scratch();
afterAll(directory.remove);

const good = directory.write(
  'good.safetensors',
  fileOf([
    { name: 'layers.10.weight', dtype: 'F32', shape: [2, 2] },
    { name: 'layers.2.weight', dtype: 'F32', shape: [8] },
    { name: 'layers.2.bias', dtype: 'F16', shape: [] },
  ]),
);
const namesIn = (stdout: string) => JSON.parse(stdout).map(({ name }: { name: string }) => name);

describe('ls', () => {
  it('prints the listing, naturally sorted, and nothing else', async () => {
    const { status, stdout, stderr } = await safetensors(['ls', good]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toBe(
      [
        'Tensor            Dtype  Shape   Offsets',
        'layers.2.bias     F16    []      [48, 50]',
        'layers.2.weight   F32    [8]     [16, 48]',
        'layers.10.weight  F32    [2, 2]  [0, 16]',
        'Total: 3 tensors',
        '',
      ].join('\n'),
    );
  });

  it.each<[string[], string[]]>([
    [
      ['--sort', 'offset'],
      ['layers.10.weight', 'layers.2.weight', 'layers.2.bias'],
    ],
    [['--sort=size'], ['layers.2.weight', 'layers.10.weight', 'layers.2.bias']],
    [['--filter', '*.weight', '-f', '!layers.10.*'], ['layers.2.weight']],
    [['--filter', 'nothing'], []],
  ])('--json %j', async (options, names) => {
    const { status, stdout } = await safetensors(['ls', '--json', ...options, good]);
    expect(status).toBe(0);
    expect(namesIn(stdout)).toEqual(names);
  });

  it('lists a directory and its index alike, with the shard of each tensor', async () => {
    const sharded = scratch();
    const names = ['model-1.safetensors', 'model-2.safetensors', 'model-10.safetensors'];
    for (const [i, file] of names.entries()) sharded.write(file, fileOf([{ name: `t.${i}`, dtype: 'U8', shape: [i] }]));
    const weight_map = Object.fromEntries(names.map((file, i) => [`t.${i}`, file]));
    const index = sharded.write('model.safetensors.index.json', JSON.stringify({ metadata: {}, weight_map }));
    const [fromDirectory, fromIndex] = await Promise.all([
      safetensors(['ls', sharded.path, '--sort', 'offset', '--json']),
      safetensors(['ls', index, '--sort', 'offset', '--json']),
    ]);
    sharded.remove();
    expect(JSON.parse(fromDirectory.stdout).map(({ shard }: { shard: string }) => shard)).toEqual(names);
    expect(fromIndex.stdout).toBe(fromDirectory.stdout);
  });
});

describe('info', () => {
  it('prints the summary, or one JSON object', async () => {
    const [text, json] = await Promise.all([safetensors(['info', good]), safetensors(['info', good, '--json'])]);
    expect(text).toMatchObject({ status: 0, stderr: '' });
    expect(text.stdout).toContain('Parameters  13\n');
    expect(JSON.parse(json.stdout)).toMatchObject({ path: good, tensors: 3, parameters: 13 });
  });
});

describe('help and version', () => {
  it('go to stdout with code 0, with examples and exit codes', async () => {
    const [help, ls, version] = await Promise.all([
      safetensors(['--help']),
      safetensors(['ls', '--help']),
      safetensors(['--version']),
    ]);
    expect(help).toMatchObject({ status: 0, stderr: '' });
    expect(help.stdout).toContain('Exit codes:');
    expect(ls.stdout).toContain('Examples:');
    expect(ls.stdout).toContain('--sort');
    expect(version).toEqual({ status: 0, stdout: `${packageJson.version}\n`, stderr: '' });
  });
});

describe.concurrent('usage errors', () => {
  it.each([
    [['ls'], /missing required argument/],
    [['ls', good, good], /too many arguments/],
    [['ls', '--sort', 'colour', good], /--sort.*name, offset, size/],
    [['ls', '--wrong', good], /unknown option/],
    [['ls', '--filter', '', good], /Not a glob/],
    [['ls', '--filter', '[b-a]', good], /Not a glob/],
    [['list', good], /unknown command 'list'(?!.*is it)/],
    [[good], /unknown command .*is it a file\? safetensors ls <path>/],
    [['ls', '--\u001b[31m\nx', good], /unknown option/],
  ])('%j: code 2, one line on stderr', async (args, message) => {
    const { status, stdout, stderr } = await safetensors(args);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(message);
    expect(stderr).toMatch(/^safetensors: .*\n$/);
    expect(stderr).not.toMatch(UNSAFE);
  });

  it('an empty command line prints the help on stderr', async () => {
    const { status, stdout, stderr } = await safetensors([]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain('Usage: safetensors');
  });
});

const empty = join(directory.path, 'empty');
mkdirSync(empty);
const fifo = join(directory.path, 'pipe.safetensors');
makeFifo(fifo);
const lfs = directory.write(
  'lfs.safetensors',
  'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 438955544\n',
);

describe.concurrent('refusals', () => {
  it.each([
    ['a missing file', join(directory.path, 'missing.safetensors'), 3, /ENOENT/],
    ['a missing file with a hostile name', join(directory.path, '\u001b[2J\n\u202ex'), 3, /ENOENT/],
    ['a path through a file', join(good, 'x'), 3, /ENOTDIR/],
    ['a named pipe, without waiting for it', fifo, 3, /NOT_A_REGULAR_FILE/],
    ['a device', '/dev/zero', 3, /NOT_A_REGULAR_FILE/],
    ['an LFS pointer', lfs, 1, /LFS.*438955544|438955544.*LFS/i],
    ['a file of no bytes', directory.write('none.safetensors', ''), 1, /HEADER_TOO_SMALL/],
    [
      'a truncated file',
      directory.write(
        'cut.safetensors',
        withHeader('{"a":{"dtype":"U8","shape":[9],"data_offsets":[0,9]}}', Buffer.alloc(4)),
      ),
      1,
      /TRUNCATED_DATA/,
    ],
    [
      'a name twice, and the name is hostile',
      directory.write(
        'twice.safetensors',
        withHeader(
          '{"\\u001b\\n\\u202e":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"\\u001b\\n\\u202e":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}',
          Buffer.alloc(0),
        ),
      ),
      1,
      /DUPLICATE_KEY/,
    ],
    ['an index that is none', directory.write('x.safetensors.index.json', '[]'), 1, /INVALID_INDEX/],
    [
      'an index whose shard is missing',
      directory.write('y.safetensors.index.json', '{"weight_map":{"a":"gone.safetensors"}}'),
      1,
      /SHARD_MISSING/,
    ],
    [
      'an index that leaves its directory',
      directory.write('z.safetensors.index.json', '{"weight_map":{"a":"../a.safetensors"}}'),
      1,
      /UNSAFE_SHARD_NAME/,
    ],
  ])('%s', async (_, path, code, message) => {
    const { status, stdout, stderr } = await safetensors(['ls', path]);
    expect({ status, stdout }).toEqual({ status: code, stdout: '' });
    expect(stderr).toMatch(message);
    expect(stderr).toMatch(/^safetensors: .*\n$/);
    expect(stderr).not.toMatch(UNSAFE);
  });

  it('a directory with nothing in it', async () => {
    const { status, stdout, stderr } = await safetensors(['ls', empty]);
    expect({ status, stdout }).toEqual({ status: 3, stdout: '' });
    expect(stderr).toMatch(/^safetensors: .*empty.*\n$/);
  });

  it('info gives the same verdicts', async () => {
    for (const path of [lfs, fifo]) {
      const [ls, info] = await Promise.all([safetensors(['ls', path]), safetensors(['info', path])]);
      expect(info).toEqual(ls);
    }
  });
});

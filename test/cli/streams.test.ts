// Owns the command's streams: pipes that fill, readers that leave, disks that are full, terminals and their colours.
// Refuses what is written to them, but for colours and what must never reach a terminal.

import { afterAll, describe, expect, it, vi } from 'vitest';
import { fileOf, scratch, UNSAFE } from './files.js';
import { MAIN, safetensors, shell } from './run.js';

// Each test starts a process or two; a busy machine takes its time over that.
vi.setConfig({ testTimeout: 60_000 });

const directory = scratch();
afterAll(directory.remove);

const few = directory.write('few.safetensors', fileOf([{ name: 'a', dtype: 'F32', shape: [2] }]));
const many = directory.write(
  'many.safetensors',
  fileOf(Array.from({ length: 20_000 }, (_, i) => ({ name: `layers.${i}.weight`, dtype: 'F32', shape: [0] }))),
);

describe('pipes', () => {
  it('writes a listing longer than a pipe as one whole document', async () => {
    const { status, stdout } = await safetensors(['ls', '--json', many]);
    expect(status).toBe(0);
    expect(JSON.parse(stdout).map(({ name }: { name: string }) => name)).toEqual(
      Array.from({ length: 20_000 }, (_, i) => `layers.${i}.weight`),
    );
  });

  it.each([[['ls', many]], [['ls', '--json', many]]])('a reader that leaves early is no error: %j', async (args) => {
    const { status, stdout, stderr } = await shell('{ "$@"; echo "code $?" >&2; } | head -n 1', args);
    expect(status).toBe(0);
    expect(stdout.split('\n')).toHaveLength(2);
    expect(stderr).toBe('code 0\n');
  });

  it('a closed stdout is no error', async () => {
    expect(await shell('"$@" >&-', ['ls', few])).toEqual({ status: 0, stdout: '', stderr: '' });
  });

  it('a full disk is one', async () => {
    const { status, stderr } = await shell('"$@" >/dev/full', ['ls', few]);
    expect(status).toBe(3);
    expect(stderr).toMatch(/^safetensors: .*ENOSPC.*\n$/);
  });
});

describe('colours', () => {
  const hostile = directory.write(
    'hostile.safetensors',
    fileOf(
      ['\u001b[31mred', 'a\nb', '\u202edcba', '\u009b2J', '日本'].map((name) => ({ name, dtype: 'U8', shape: [] })),
      { metadata: { '\u001b[2J': '\u001b]0;owned\u0007' } },
    ),
  );
  const OURS = new RegExp(`${String.fromCharCode(0x1b)}\\[[0-9]+m`, 'g');
  // A pseudo terminal by util-linux, which ends lines with CR LF. Paths go by the environment: no quoting to get wrong.
  const onTerminal = async (command: string, file: string, env: NodeJS.ProcessEnv = {}) => {
    const line = `script -qec '"$CLI_NODE" "$CLI_MAIN" ${command} "$CLI_FILE"' /dev/null`;
    const variables = { SHELL: '/bin/sh', CLI_NODE: process.execPath, CLI_MAIN: MAIN, CLI_FILE: file };
    const { stdout } = await shell(line, [], { ...variables, ...env });
    return stdout.replaceAll('\r\n', '\n');
  };

  it('are absent from a pipe unless asked for, also where CI is set', async () => {
    expect((await safetensors(['ls', hostile], { CI: '1' })).stdout).not.toMatch(UNSAFE);
    expect((await safetensors(['ls', hostile], { FORCE_COLOR: '1' })).stdout).toMatch(OURS);
  });

  it.runIf(process.platform === 'linux').each(['ls', 'info'])(
    'are there on a terminal, and only ours: %s',
    async (command) => {
      const [coloured, plain] = await Promise.all([
        onTerminal(command, hostile),
        onTerminal(command, hostile, { NO_COLOR: '1' }),
      ]);
      expect(coloured).toMatch(OURS);
      expect(plain).toContain('U8');
      expect(plain).not.toMatch(UNSAFE);
      expect(coloured.replaceAll(OURS, '')).toBe(plain);
    },
  );
});

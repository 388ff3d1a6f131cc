// Owns the demo as a newcomer runs it: what it shows, its exit codes, and what it says of models that it cannot run.
// Refuses to build the library first: that is the test command's first step.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it, vi } from 'vitest';

// Each test starts two processes; a busy machine takes its time over that.
vi.setConfig({ testTimeout: 60_000 });

const at = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const DEMO = at('dist-examples/demo/main.js');
const LINUX = process.platform === 'linux';
if (!existsSync(DEMO)) throw new Error('dist-examples/demo/main.js is missing: build before the tests');

const directory = mkdtempSync(join(tmpdir(), 'safetensors-demo-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

interface Result {
  readonly status: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

function demo(args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Promise<Result> {
  return new Promise((resolve) => {
    const options = { cwd: at('.'), env: { ...process.env, SAFETENSORS_BACKEND: undefined, ...env } };
    execFile(process.execPath, [DEMO, ...args], options, (error, stdout, stderr) => {
      resolve({ status: error ? error.code : 0, stdout, stderr });
    });
  });
}

describe('the demo', () => {
  it('lists its own model, writes a text, and says what it took', async () => {
    const { status, stdout, stderr } = await demo();
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/^\$ npx safetensors ls --sort size examples\/models\/kjv-llama$/m);
    expect(stdout).toMatch(/^model\.embed_tokens\.weight +BF16 +\[1024, 192\] /m);
    expect(stdout).toContain('… and 28 more\nTotal: 38 tensors\n');
    expect(stdout).toMatch(/^Loaded in \d+ ms: /m);
    expect(stdout).toMatch(/^And it came to pass, .{40}/m);
    expect(stdout).toMatch(/^prompt +6 tokens, \d+ ms/m);
    expect(stdout).toMatch(/^written +\d+ tokens, \d+ tokens per second$/m);
    expect(stdout).toMatch(/^mapped +3,463 KiB, 2 files, as copy-on-write$/m);
    if (LINUX) {
      expect(stdout).toMatch(/^Loaded in .*; 0 KiB of the weights are in this process$/m);
      const resident = Number(/^resident +([\d,]+) KiB/m.exec(stdout)?.[1]?.replaceAll(',', ''));
      expect(resident).toBeGreaterThan(3000);
      expect(resident).toBeLessThan(3600);
    }
  });

  it('says so when the files are read instead', async () => {
    const { status, stdout } = await demo([], { SAFETENSORS_BACKEND: 'read' });
    expect(status).toBe(0);
    expect(stdout).toContain("not mapped but read when used (backend 'read')");
    expect(stdout).not.toMatch(/^resident/m);
  });

  it('ends quietly when nobody reads on', async () => {
    const child = spawn(process.execPath, [DEMO], { cwd: at('.'), stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.destroy();
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    const [status] = (await once(child, 'close')) as [number];
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  it('continues a prompt of the user', async () => {
    const { status, stdout } = await demo(['examples/models/kjv-llama', 'And Moses\u001b[31m said']);
    expect(status).toBe(0);
    expect(stdout).toContain('\nAnd Moses\\u{1b}[31m said');
    expect(stdout).not.toMatch(/(?!\n)\p{Cc}/u);
  });

  it('lists a model without a configuration or a tokenizer', async () => {
    const sharded = await demo([at('test/fixtures/files/sharded')]);
    expect(sharded.status).toBe(0);
    expect(sharded.stdout).toContain('… and 11 more\nTotal: 21 tensors\n');
    expect(sharded.stdout).toContain('It is listed only');
    const names = await demo([at('test/fixtures/files/names.safetensors')]);
    expect(names.status).toBe(0);
    expect(names.stdout).not.toMatch(/(?!\n)\p{Cc}/u);
  });

  it('lists a model of another architecture, and says in one line why it is not run', async () => {
    const other = join(directory, 'other');
    mkdirSync(other);
    copyFileSync(at('test/fixtures/files/names.safetensors'), join(other, 'model.safetensors'));
    writeFileSync(join(other, 'tokenizer.json'), '{}');
    writeFileSync(join(other, 'config.json'), '{ "model_type": "bert\\u001b" }');
    const { status, stdout, stderr } = await demo([other]);
    expect(status).toBe(3);
    expect(stdout).toMatch(/^Total: 48 tensors$/m);
    expect(stderr).toMatch(/^demo: .*"model_type" is "bert\\u001b".* \(UNSUPPORTED_MODEL\)\n$/);
  });

  it.each([
    ['a path that is not there', [join(directory, 'no-such.safetensors')], 3, 'no such file'],
    ['a directory without a model', [directory], 3, '(MODEL_NOT_FOUND)'],
    ['too many arguments', ['a', 'b', 'c'], 2, 'usage: '],
    ['an option', ['--help'], 2, 'usage: '],
  ])('fails in one line: %s', async (_, args, status, message) => {
    const result = await demo(args);
    expect({ status: result.status, stdout: result.stdout }).toEqual({ status, stdout: '' });
    expect(result.stderr).toContain(message);
    expect(result.stderr.trim().split('\n')).toHaveLength(1);
  });

  it('fails in one line on a file that is something else', async () => {
    const pointer = join(directory, 'pointer.safetensors');
    writeFileSync(
      pointer,
      `version https://git-lfs.github.com/spec/v1\noid sha256:${'0'.repeat(64)}\nsize 438955544\n`,
    );
    const { status, stderr } = await demo([pointer]);
    expect(status).toBe(1);
    expect(stderr).toMatch(/git lfs pull.* \(HEADER_TOO_LARGE\)\n$/);
  });
});

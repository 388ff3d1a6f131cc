// Owns the demo as a newcomer runs it: what it shows, its exit codes, and that its arithmetic is the model's.
// Refuses to build the library first: that is the test command's first step.

import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { numberLanguage } from '../examples/demo/number-language.mjs';
import { openSync } from '../src/index.js';

// Each test starts a process; a busy machine takes its time over that.
vi.setConfig({ testTimeout: 60_000 });

const at = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const MODEL = at('examples/models/number_language.safetensors');
const LINUX = process.platform === 'linux';
if (!existsSync(at('dist/index.js'))) throw new Error('dist/index.js is missing: build the library before its tests');

const directory = mkdtempSync(join(tmpdir(), 'safetensors-demo-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

interface Result {
  readonly status: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

function demo(args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Promise<Result> {
  return new Promise((resolve) => {
    const options = { env: { ...process.env, SAFETENSORS_BACKEND: undefined, ...env } };
    execFile(process.execPath, [at('examples/demo.mjs'), ...args], options, (error, stdout, stderr) => {
      resolve({ status: error ? error.code : 0, stdout, stderr });
    });
  });
}

const own = demo();

/** KiB in memory that the demo saw, in the order of its steps, and the size of the mapping. */
function residentIn(stdout: string): { steps: number[]; size: number } {
  const found = [...stdout.matchAll(/^in memory .* (\d+) of (\d+) KiB$/gm)];
  return { steps: found.map((match) => Number(match[1])), size: Number(found[0]?.[2]) };
}

describe('the demo', () => {
  it('lists its own model, proves the mapping, computes and classifies, in 80 columns', async () => {
    const { status, stdout, stderr } = await own;
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain('9 tensors, 208,384 bytes');
    expect(stdout).toMatch(/^embedding\.weight {9}F32 {4}\[2048, 24\] {2}\[800, 197408\]$/m);
    expect(stdout).toContain('F32 [2048, 24], zero-copy');
    expect(stdout).toMatch(/^achtundneunzig +de +9\d\.\d %/m);
    expect(stdout).toMatch(/^tvåtusen fem +sv +(9\d\.\d|100\.0) %/m);
    const line = stdout.split('\n').find((text) => text.length > 80 && !text.includes(MODEL));
    expect(line).toBeUndefined();
  });

  it.runIf(LINUX)('shows that nothing is in memory before the first touch', async () => {
    const { stdout } = await own;
    expect(stdout).toMatch(/^\/proc\/self\/maps: [0-9a-f]+-[0-9a-f]+ rw-p /m);
    const { steps, size } = residentIn(stdout);
    expect(steps).toHaveLength(4);
    expect(steps.slice(0, 2)).toEqual([0, 0]);
    expect(steps[2]).toBeGreaterThan(0);
    // The embedding is all but the last few pages of the file.
    expect(steps[3]).toBeGreaterThanOrEqual(192);
    expect(steps[3]).toBeLessThanOrEqual(size);
  });

  it('says so when the file is read instead', async () => {
    const { status, stdout } = await demo([], { SAFETENSORS_BACKEND: 'read' });
    expect(status).toBe(0);
    expect(stdout).toContain("not mapped but read piece by piece (backend 'read')");
    expect(stdout).not.toContain('/proc/self/maps');
    expect(stdout).toMatch(/^zeshonderd +nl/m);
  });

  it('takes a directory with a sharded model', async () => {
    const { status, stdout } = await demo([at('test/fixtures/files/sharded')]);
    expect(status).toBe(0);
    expect(stdout).toContain('3 shards, 21 tensors, ');
    expect(stdout).toContain('model.layers.1.self_attn.v_proj.weight');
    expect(stdout).toMatch(/^BF16 \[64, 16\], converted to float32, /m);
    expect(stdout).toMatch(/^mean -?\d.*, deviation \d/m);
    if (LINUX) expect(stdout).toMatch(/sharded\/model-0000\d-of-00003\.safetensors$/m);
    expect(stdout).not.toContain('The model at work');
  });

  it('takes a file without data, and names that would act on a terminal', async () => {
    const empty = await demo([at('test/fixtures/files/only_empty.safetensors')]);
    expect(empty.status).toBe(0);
    expect(empty.stdout).toContain('nothing to map');
    const { status, stdout } = await demo([at('test/fixtures/files/names.safetensors')]);
    expect(status).toBe(0);
    expect(stdout).toContain('escape\\u{1b}[31mred');
    expect(stdout).toContain('… and 24 more');
    expect(stdout).not.toMatch(/(?!\n)\p{Cc}/u);
  });

  it.each([
    ['a path that is not there', [join(directory, 'no-such.safetensors')], 3, 'no such file'],
    ['a directory without a model', [directory], 3, '(MODEL_NOT_FOUND)'],
    ['two paths', ['a', 'b'], 2, 'usage: '],
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
    expect(stderr).toMatch(/^demo: .*git lfs pull.* \(HEADER_TOO_LARGE\)\n$/);
  });
});

describe('the number language model in JavaScript', () => {
  it('gives the logits that torch gave', () => {
    const expected = JSON.parse(readFileSync(at('examples/models/number_language.expected.json'), 'utf8')) as {
      text: string;
      logits: number[];
    }[];
    expect(expected.length).toBeGreaterThan(10);
    using file = openSync(MODEL);
    const languagesOf = numberLanguage(file);
    for (const { text, logits } of expected) {
      const found = languagesOf(text).sort((a, b) => (a.label < b.label ? -1 : 1));
      expect(found).toHaveLength(logits.length);
      found.forEach(({ logit }, i) => {
        expect(logit).toBeCloseTo(logits[i]!, 3);
      });
      expect(found.reduce((sum, { probability }) => sum + probability, 0)).toBeCloseTo(1, 10);
    }
  });
});

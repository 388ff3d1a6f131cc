// Owns the listing that the demo begins with: the first rows that the command `safetensors ls` prints.
// Refuses to list by itself: what users see here is what the command gives them.

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const COMMAND = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

/** Rows shown, the heading among them. */
const MOST_ROWS = 11;

/** Bytes that the listing of the largest models stays below. */
const MOST_BYTES = 256 * 1024 * 1024;

/** Lists a model, the largest tensors first. Returns the command's exit code; its error has then been printed. */
export function list(path: string, say: (line: string) => void): number {
  const { status, stdout, stderr, error } = spawnSync(process.execPath, [COMMAND, 'ls', '--sort', 'size', path], {
    encoding: 'utf8',
    maxBuffer: MOST_BYTES,
  });
  if (error !== undefined) throw error;
  process.stderr.write(stderr);
  if (status !== 0) return status ?? 3;
  say(`$ npx safetensors ls --sort size ${path}`);
  const lines = stdout.trimEnd().split('\n');
  const total = lines.pop() ?? '';
  for (const line of lines.slice(0, MOST_ROWS)) say(line);
  if (lines.length > MOST_ROWS) say(`… and ${lines.length - MOST_ROWS} more`);
  say(total);
  return 0;
}

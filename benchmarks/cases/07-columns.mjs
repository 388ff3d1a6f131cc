// Owns case 7: the first half and the first eighth of a matrix's columns, from opening to closing, in memory.
// Refuses rows: a range of rows is a view and takes no time.
import { makeFile } from '../harness/files.mjs';

export const number = 7;
export const title = 'A slice of columns';

const ROWS = 8192;
const WIDTH = 4096;

/** @param {import('../harness/run-case.mjs').Context} context */
export async function* races({ commands, workspace, faults }) {
  const wanted = [{ name: 'w', dtype: /** @type {const} */ ('F16'), shape: [ROWS, WIDTH] }];
  const { path, dataOffset } = makeFile(workspace.path('matrix.safetensors'), wanted);
  const state = await faults(path);
  for (const part of [2, 8]) {
    const args = { path, name: 'w', part, rounds: 15, warm: 3 };
    const rowBytes = (WIDTH * 2) / part;
    yield {
      key: `columns-${part}`,
      title: `1/${part} of 64 MiB`,
      unit: 'ns',
      bytes: ROWS * rowBytes,
      state,
      contenders: [
        commands.javascript('slice, reused target', 'ours', 'columns', args),
        commands.javascript('slice, fresh memory', 'ours', 'columns', { ...args, fresh: true }),
        commands.javascript('fs.read per row', 'reading', 'columns', args),
        commands.python('Python get_slice', 'columns', { path, name: 'w', part }),
        commands.limit('C gather', 'gather', path, dataOffset, ROWS, rowBytes, WIDTH * 2, 15),
      ],
      goals: [
        {
          text: `1/${part} of the columns, speed in parts of C`,
          subject: 'slice, reused target',
          against: 'C gather',
          rate: true,
          atLeast: 0.8,
          headline: part === 8,
        },
      ],
    };
  }
}

// Owns case 1: opening a file and listing its tensors, beside JSON.parse of the same header, and the memory that it keeps.
// Refuses data: it is a hole, nothing of it is touched.
import { languageModel, makeFile } from '../harness/files.mjs';

export const number = 1;
export const title = 'Open and list';

const COUNTS = [300, 18_432, 100_000, 500_000];

/** @param {import('../harness/run-case.mjs').Context} context */
export async function* races({ commands, workspace, quick }) {
  for (const count of COUNTS) {
    const hole = { sparse: true, metadata: true };
    const { path, headerLength } = makeFile(workspace.path('many.safetensors'), languageModel(count), hole);
    const most = count === 500_000;
    const many = count > 50_000;
    // What takes a second needs no warming up, and what warms up in milliseconds gets it.
    const rounds = { rounds: most ? 1 : 31, warm: most ? 1 : 15, collect: true };
    const few = { rounds: many ? 1 : 9, warm: many ? 0 : 3, collect: true };
    /** @param {import('../harness/commands.mjs').Contender} contender */
    const seldom = (contender) => ({ ...contender, rounds: most ? 1 : 3 });
    /** @param {import('../harness/commands.mjs').Contender} contender */
    const slow = (contender) =>
      (quick && many) || most
        ? { name: contender.name, skipped: 'not with so many tensors: it would take a minute' }
        : seldom(contender);
    const goals = [];
    if (count > 300) {
      const atMost = count > 50_000 ? 0.3 : 0.4;
      const text = `open and list ${count.toLocaleString('en')} tensors, in parts of JSON.parse alone`;
      goals.push({ text, subject: 'open and list', against: 'JSON.parse alone', atMost, headline: true });
    }
    const text = `open and list ${count.toLocaleString('en')} tensors, times as fast as Python`;
    goals.push({
      text,
      subject: 'open and list',
      against: 'Python safe_open().keys()',
      rate: true,
      atLeast: 3,
      headline: count === 100_000,
    });
    // In a quick run 500,000 tensors are a matter of memory alone.
    const list = {
      key: `list-${count}`,
      title: `${count.toLocaleString('en')} tensors`,
      unit: /** @type {const} */ ('ns'),
      bytes: headerLength,
      ...(most ? { rounds: 2, fewer: 'each sample takes seconds' } : {}),
      contenders: [
        commands.javascript('open and list', 'ours', 'list', { path, ...rounds }),
        ...(quick ? [] : [commands.javascript('open', 'ours', 'list', { path, list: false, ...rounds })]),
        commands.javascript('JSON.parse alone', 'reading', 'parseAlone', { path, ...rounds }),
        slow(commands.javascript('fs.readSync, JSON.parse, validation', 'reading', 'list', { path, ...few })),
        slow(commands.peer('@huggingface/hub', 'list', { path, ...few })),
        seldom(commands.python('Python safe_open().keys()', 'list', { path, rounds: many || quick ? 1 : 3 })),
      ],
      goals,
    };
    if (!(quick && most)) yield list;
    if (count === 18_432) {
      const once = { path, rounds: 1, warm: 0 };
      yield {
        key: 'list-first',
        title: `${count.toLocaleString('en')} tensors, the first file of a process`,
        unit: 'ns',
        contenders: [
          commands.javascript('open and list', 'ours', 'list', once),
          commands.javascript('JSON.parse alone', 'reading', 'parseAlone', once),
          commands.python('Python safe_open().keys()', 'list', once),
        ],
      };
    }
    if (most) {
      yield {
        key: 'retained',
        title: 'Memory that a header of 500,000 tensors keeps, names included',
        unit: 'bytes',
        contenders: [
          commands.javascript('a header', 'ours', 'retained', { path }),
          commands.javascript("JSON.parse's tree", 'reading', 'retained', { path }),
        ],
        goals: [
          {
            text: "memory of a header of 500,000 tensors, in parts of JSON.parse's tree",
            subject: 'a header',
            against: "JSON.parse's tree",
            atMost: 0.25,
            headline: true,
          },
        ],
      };
    }
  }
}

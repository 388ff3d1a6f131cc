// Owns how a contender becomes a command: a job in JavaScript, in Python or of the C program, and why it is skipped.
// Refuses to run it.
import { own } from './tools.mjs';

/** Samples of a contender whose start alone takes seconds, or that is many times slower: enough for a factor. */
const FEW = 3;

/**
 * @typedef {object} Contender
 * @property {string} name unique within its race
 * @property {readonly string[]} [command] absent when it is skipped
 * @property {number} [rounds] most samples, where they cost more than they tell
 * @property {string} [skipped] why
 */

/**
 * @typedef {Record<string, unknown>} Arguments
 */

export class Commands {
  /**
   * @param {import('./tools.mjs').Tools} tools
   * @param {number} seconds after which a sample that works in rounds begins no other; as long again for warming up
   */
  constructor(tools, seconds) {
    this.tools = tools;
    this.seconds = seconds;
  }

  /**
   * A job of contenders/MODULE.mjs.
   * @param {string} name
   * @param {string} module
   * @param {string} job
   * @param {Arguments} args
   * @returns {Contender}
   */
  javascript(name, module, job, args) {
    const command = [process.execPath, '--expose-gc', '--no-warnings', own('harness/sample.mjs'), module, job];
    return { name, command: [...command, JSON.stringify({ seconds: this.seconds, ...args })] };
  }

  /**
   * A job of contenders/peers.mjs, with a package from npm.
   * @param {string} name the package
   * @param {string} job
   * @param {Arguments} args
   * @returns {Contender}
   */
  peer(name, job, args) {
    const version = this.tools.peers[name];
    if (version === undefined) {
      return { name, skipped: 'not installed: npm ci --prefix benchmarks/contenders --ignore-scripts' };
    }
    return { ...this.javascript(`${name} ${version}`, 'peers', job, { ...args, peer: name }), rounds: FEW };
  }

  /**
   * A job of contenders/python.py.
   * @param {string} name
   * @param {string} job
   * @param {Arguments} args `framework` 'torch' asks for torch
   * @returns {Contender}
   */
  python(name, job, args) {
    const { python } = this.tools;
    if (!python.ok) return { name, skipped: python.reason };
    if (args.framework === 'torch' && python.modules.torch === undefined) {
      return { name, skipped: 'this Python has no torch' };
    }
    const command = [
      python.program,
      own('contenders/python.py'),
      job,
      JSON.stringify({ seconds: this.seconds, ...args }),
    ];
    return { name, command, rounds: FEW };
  }

  /**
   * A subcommand of the C program.
   * @param {string} name
   * @param {...(string | number)} args
   * @returns {Contender}
   */
  limit(name, ...args) {
    const { limits } = this.tools;
    if (!limits.ok) return { name, skipped: limits.reason };
    return { name, command: [limits.program, ...args.map(String)] };
  }
}

// Owns how a contender becomes a command: a job in JavaScript, in Python or of the C program, and why it is skipped.
// Refuses to run it.
import { own } from './tools.mjs';

/**
 * @typedef {object} Contender
 * @property {string} name unique within its race
 * @property {readonly string[]} [command] absent when it is skipped
 * @property {string} [skipped] why
 */

/**
 * @typedef {Record<string, unknown>} Arguments
 */

export class Commands {
  /** @param {import('./tools.mjs').Tools} tools */
  constructor(tools) {
    this.tools = tools;
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
    return { name, command: [...command, JSON.stringify(args)] };
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
    return { ...this.javascript(`${name} ${version}`, 'peers', job, { ...args, peer: name }) };
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
    return { name, command: [python.program, own('contenders/python.py'), job, JSON.stringify(args)] };
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

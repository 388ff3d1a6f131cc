// Owns the command line of the server. Refuses what it does not know.

import { basename, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { ModelPlace } from './models.js';

/** What the command line says. */
export interface Arguments {
  readonly models: readonly ModelPlace[];
  readonly host: string;
  readonly port: number;
}

export const USAGE = `usage: node dist-examples/server/main.js [options] DIRECTORY|NAME=DIRECTORY ...

Serves text of the models in these directories, which hold config.json, tokenizer.json and safetensors files.

  --port N      port to listen on, 0 for any free one (8080)
  --host NAME   address to listen on (127.0.0.1: this machine alone; the server asks nobody for a password)
  --help        this text
`;

/** Why a command line is not understood. */
export class UsageError extends Error {}

/** Reads the arguments; undefined when help was asked for. Throws UsageError. */
export function readArguments(given: readonly string[]): Arguments | undefined {
  const { values, positionals } = parsed(given);
  if (values.help) return undefined;
  const port = Number(values.port);
  if (!/^\d+$/.test(values.port) || port > 65_535) throw new UsageError(`--port is ${values.port}, not 0 to 65535`);
  if (positionals.length === 0) throw new UsageError('name a directory of a model');
  const models = positionals.map(placeOf);
  const odd = models.find(({ name }) => ['', '.', '..'].includes(name));
  if (odd !== undefined) throw new UsageError(`"${odd.name}" is no name for a model; name it NAME=DIRECTORY`);
  const twice = models.find(({ name }, index) => models.findIndex((other) => other.name === name) < index);
  if (twice !== undefined) throw new UsageError(`two models are called "${twice.name}"; name them NAME=DIRECTORY`);
  return { models, host: values.host, port };
}

function parsed(given: readonly string[]) {
  try {
    return parseArgs({
      args: [...given],
      allowPositionals: true,
      options: {
        port: { type: 'string', default: '8080' },
        host: { type: 'string', default: '127.0.0.1' },
        help: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function placeOf(given: string): ModelPlace {
  const [, name, directory] = /^([\w.-]+)=(.+)$/s.exec(given) ?? [];
  if (name !== undefined && directory !== undefined) return { name, directory };
  return { name: basename(resolve(given)), directory: given };
}

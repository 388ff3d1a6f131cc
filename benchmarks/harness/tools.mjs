// Owns what is on this machine to measure with: the C program, a Python with its modules, the contenders from npm.
// Refuses to install anything. What is missing comes with the reason, which the result then carries.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * @typedef {{ ok: true, program: string, compiler: string } | { ok: false, reason: string }} Limits
 * @typedef {{ ok: true, program: string, modules: Record<string, string> } | { ok: false, reason: string }} Python
 * @typedef {{ limits: Limits, python: Python, peers: Record<string, string> }} Tools
 */

const SOURCES = ['main', 'files', 'loading', 'computing', 'kernels'];

/** @param {string} name relative to benchmarks/ */
export function own(name) {
  return fileURLToPath(new URL(`../${name}`, import.meta.url));
}

/**
 * Compiles the program of the physical limits for this very processor.
 * @param {import('./workspace.mjs').Workspace} workspace
 * @param {string} folder where the program goes
 * @returns {Promise<Limits>}
 */
async function compileLimits(workspace, folder) {
  if (process.platform !== 'linux')
    return { ok: false, reason: `the C program is for Linux, this is ${process.platform}` };
  const compiler = process.env.CC ?? 'cc';
  const program = path.join(folder, 'limits');
  const sources = SOURCES.map((name) => own(`limits/${name}.c`));
  const version = await workspace.run([compiler, '--version']);
  if (!version.ok) return { ok: false, reason: `no C compiler: ${version.error}` };
  const built = await workspace.run([compiler, '-O3', '-march=native', '-pthread', ...sources, '-o', program]);
  if (!built.ok) return { ok: false, reason: `the C program does not compile: ${built.error}` };
  return { ok: true, program, compiler: version.text.split('\n')[0] ?? '' };
}

const ASK_PYTHON = `
import importlib, json, platform
found = {"python": platform.python_version()}
for name in ("safetensors", "numpy", "torch"):
    try:
        found[name] = importlib.import_module(name).__version__
    except Exception:
        pass
print(json.dumps(found))
`;

/**
 * @param {import('./workspace.mjs').Workspace} workspace
 * @returns {Promise<Python>}
 */
async function findPython(workspace) {
  const program = process.env.SAFETENSORS_PYTHON ?? 'python3';
  const answer = await workspace.run([program, '-c', ASK_PYTHON]);
  if (!answer.ok)
    return { ok: false, reason: 'no Python: set SAFETENSORS_PYTHON to one that has safetensors and numpy' };
  const modules = JSON.parse(answer.text);
  if (modules.safetensors === undefined || modules.numpy === undefined) {
    return {
      ok: false,
      reason: 'this Python has no safetensors or no numpy: set SAFETENSORS_PYTHON to one that has them',
    };
  }
  return { ok: true, program, modules };
}

/** The contenders from npm that are installed, with their versions. */
function findPeers() {
  const { dependencies } = JSON.parse(readFileSync(own('contenders/package.json'), 'utf8'));
  const found = Object.keys(dependencies).flatMap((name) => {
    const manifest = own(`contenders/node_modules/${name}/package.json`);
    return existsSync(manifest) ? [[name, JSON.parse(readFileSync(manifest, 'utf8')).version]] : [];
  });
  return Object.fromEntries(found);
}

/**
 * @param {import('./workspace.mjs').Workspace} workspace
 * @param {string} folder for what is compiled
 * @returns {Promise<Tools>}
 */
export async function findTools(workspace, folder) {
  return {
    limits: await compileLimits(workspace, folder),
    python: await findPython(workspace),
    peers: findPeers(),
  };
}

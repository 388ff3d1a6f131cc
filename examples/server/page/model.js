// Owns the right side: what of the chosen model is in memory, now and a second from now. Refuses to ask while the page is hidden.

import { clearHistogram, showHistogram } from './histogram.js';
import { act, getResidency } from './server.js';
import { Tree } from './tree.js';
import { percentOf, shareOf, sizeOf } from './units.js';

/** Milliseconds between two looks. */
const EVERY = 1000;

const place = /** @type {HTMLElement} */ (document.getElementById('tree'));
const bar = /** @type {HTMLElement} */ (document.getElementById('memory-bar'));
const told = /** @type {HTMLElement} */ (document.getElementById('memory-text'));
const problem = /** @type {HTMLElement} */ (document.getElementById('memory-problem'));
const buttons = ['prefetch', 'evict'].map((id) => /** @type {HTMLButtonElement} */ (document.getElementById(id)));

/** @type {string | undefined} */
let shown;
/** @type {Tree | undefined} */
let tree;

/** Makes the buttons work, and keeps looking. */
export function setUpWeights() {
  for (const button of buttons) {
    button.addEventListener('click', async () => {
      if (shown === undefined) return;
      complain(await act(shown, /** @type {'prefetch' | 'evict'} */ (button.id)).then(() => '', messageOf));
      await refresh();
    });
  }
  const look = async () => {
    if (!document.hidden) await refresh();
    setTimeout(look, EVERY);
  };
  void look();
}

/**
 * Shows another model.
 * @param {import('./server.js').Model} model
 */
export function showModel({ name, tensors }) {
  shown = name;
  clearHistogram();
  tree = new Tree(place, tensors, (tensor) => void showHistogram(name, tensor));
  const first = tensors.find(({ shape }) => shape.length > 1) ?? tensors[0];
  if (first !== undefined) tree.choose(first);
  void refresh();
}

async function refresh() {
  const model = shown;
  if (model === undefined) return;
  try {
    const residency = await getResidency(model);
    if (model !== shown) return;
    const { state, prefetch, bytes, residentBytes, tensors } = residency;
    const share = shareOf(residentBytes, bytes);
    bar.style.width = `${(share ?? 0) * 100}%`;
    const coming =
      state === 'loading' ? `, prefetching ${percentOf(shareOf(prefetch.doneBytes, prefetch.totalBytes || 1))}` : '';
    const resident = residentBytes === null ? 'unknown' : sizeOf(residentBytes);
    told.textContent = `${resident} of ${sizeOf(bytes)} in memory${coming}`;
    for (const button of buttons) button.disabled = state === 'loading';
    tree?.update(tensors);
  } catch (error) {
    told.textContent = messageOf(error);
  }
}

/** @param {string} message */
function complain(message) {
  problem.textContent = message;
  problem.hidden = message === '';
}

/** @param {unknown} error */
function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}

// Owns the start of the page and the choice of the model. Refuses to give up while the server is still opening its models.

import { setUpForm } from './generate.js';
import { setUpWeights, showModel } from './model.js';
import { getModels } from './server.js';

const select = /** @type {HTMLSelectElement} */ (document.getElementById('model'));

/** @type {import('./server.js').Model[]} */
let models = [];

setUpForm(() => select.value);
setUpWeights();
select.addEventListener('change', showChosen);
void load();

/** Asks until every model is open, or has failed. */
async function load() {
  const before = models;
  models = await getModels().catch(() => before);
  if (select.options.length !== models.length) {
    select.replaceChildren(...models.map(({ name }) => new Option(name)));
  }
  models.forEach(({ name, state }, index) => {
    const option = /** @type {HTMLOptionElement} */ (select.options[index]);
    option.text = state === 'failed' || state === 'opening' ? `${name} (${state})` : name;
    option.value = name;
  });
  const chosen = models[select.selectedIndex];
  const wasOpening = (before[select.selectedIndex]?.state ?? 'opening') === 'opening';
  // Also one that failed: the server says so in place of the weights.
  if (chosen !== undefined && chosen.state !== 'opening' && wasOpening) showModel(chosen);
  if (models.length === 0 || models.some(({ state }) => state === 'opening')) setTimeout(load, 500);
}

function showChosen() {
  const chosen = models[select.selectedIndex];
  if (chosen !== undefined) showModel(chosen);
}

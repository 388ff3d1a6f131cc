// Owns the left side: the form, the text as it comes, and its end. Refuses a second generation while one runs.

import { generate } from './server.js';

const form = /** @type {HTMLFormElement} */ (document.getElementById('write'));
const prompt = /** @type {HTMLTextAreaElement} */ (document.getElementById('prompt'));
const start = /** @type {HTMLButtonElement} */ (document.getElementById('start'));
const stop = /** @type {HTMLButtonElement} */ (document.getElementById('stop'));
const text = /** @type {HTMLElement} */ (document.getElementById('text'));
const progress = /** @type {HTMLElement} */ (document.getElementById('progress'));

const ENDS = new Map([
  ['end', 'the end of the text'],
  ['length', 'the limit of tokens'],
  ['context', 'the model has no more room'],
]);

/** @type {AbortController | undefined} */
let running;

/**
 * Makes the form work.
 * @param {() => string} modelName the model chosen
 */
export function setUpForm(modelName) {
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (running === undefined) void write(modelName());
  });
  stop.addEventListener('click', () => running?.abort());
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') running?.abort();
    const isField = event.target instanceof HTMLElement && event.target.matches('#write :is(textarea, input)');
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && isField) form.requestSubmit();
  });
}

/** @param {string} model */
async function write(model) {
  running = new AbortController();
  show(true);
  say('waiting for the first token …');
  const begun = document.createElement('span');
  begun.className = 'prompt';
  begun.textContent = prompt.value;
  const written = document.createTextNode('');
  text.replaceChildren(begun, written);

  const began = performance.now();
  let tokens = 0;
  try {
    for await (const { event, data } of generate(wanted(model), running.signal)) {
      if (event === 'error') throw new Error(`${data.error.code}: ${data.error.message}`);
      if (event === 'token') {
        tokens += 1;
        append(written, data.text);
        say(`${tokens} tokens, ${pace(tokens, performance.now() - began)}`);
      } else {
        const { milliseconds, reason, seed } = data;
        say(
          `${data.tokens} tokens, ${pace(data.tokens, milliseconds.total)}; ${ENDS.get(reason) ?? reason} (seed ${seed})`,
        );
      }
    }
  } catch (error) {
    if (running.signal.aborted) say(`stopped after ${tokens} tokens`);
    else say(/** @type {Error} */ (error).message, true);
  }
  running = undefined;
  show(false);
}

/** @param {string} model */
function wanted(model) {
  const number = (/** @type {string} */ id) =>
    /** @type {HTMLInputElement} */ (document.getElementById(id)).valueAsNumber;
  const seed = number('seed');
  return {
    model,
    prompt: prompt.value,
    maxTokens: number('tokens'),
    temperature: number('temperature'),
    ...(Number.isNaN(seed) ? {} : { seed }),
  };
}

/**
 * Follows the text down, unless the reader has scrolled up.
 * @param {Text} written
 * @param {string} more
 */
function append(written, more) {
  const follows = text.scrollTop + text.clientHeight >= text.scrollHeight - 8;
  written.appendData(more);
  if (follows) text.scrollTop = text.scrollHeight;
}

/**
 * @param {number} tokens
 * @param {number} milliseconds
 */
function pace(tokens, milliseconds) {
  return `${((tokens / milliseconds) * 1000).toFixed(1)} a second`;
}

/** @param {boolean} isRunning */
function show(isRunning) {
  // The keyboard stays where it can do something.
  const hadFocus = document.activeElement === start || document.activeElement === stop;
  start.disabled = isRunning;
  stop.disabled = !isRunning;
  text.classList.toggle('writing', isRunning);
  if (hadFocus) (isRunning ? stop : start).focus();
}

/**
 * @param {string} line
 * @param {boolean} [isProblem]
 */
function say(line, isProblem = false) {
  progress.textContent = line;
  progress.classList.toggle('problem', isProblem);
}

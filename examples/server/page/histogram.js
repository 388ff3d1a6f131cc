// Owns the picture of one tensor's values. Refuses to show an answer that came after the next question.

import { getHistogram } from './server.js';
import { numberOf } from './units.js';

const SVG = 'http://www.w3.org/2000/svg';
const WIDTH = 480;
const HEIGHT = 100;

const figure = /** @type {HTMLElement} */ (document.getElementById('histogram'));

/** @type {AbortController | undefined} */
let asking;

/** Takes the picture away. */
export function clearHistogram() {
  asking?.abort();
  figure.replaceChildren();
}

/**
 * Asks for a tensor's histogram and draws it.
 * @param {string} model
 * @param {import('./server.js').Tensor} tensor
 */
export async function showHistogram(model, tensor) {
  asking?.abort();
  const own = new AbortController();
  asking = own;
  const caption = document.createElement('figcaption');
  caption.append(named(tensor.name), ` ${tensor.dtype} [${tensor.shape.join(', ')}]`);
  try {
    const histogram = await getHistogram(model, tensor.name, own.signal);
    if (asking === own) figure.replaceChildren(caption, picture(histogram), facts(histogram));
  } catch (error) {
    if (asking !== own || own.signal.aborted) return;
    const problem = document.createElement('p');
    problem.className = 'problem';
    problem.textContent = /** @type {Error} */ (error).message;
    figure.replaceChildren(caption, problem);
  }
}

/** @param {string} name */
function named(name) {
  const element = document.createElement('span');
  element.className = 'name';
  element.textContent = name;
  return element;
}

/** @param {import('./server.js').Histogram} histogram */
function picture({ bins, from, to, min, max }) {
  const most = Math.max(1, ...bins);
  const step = WIDTH / Math.max(1, bins.length);
  const svg = element('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img' });
  svg.setAttribute('aria-label', `Histogram of values from ${numberOf(min)} to ${numberOf(max)}`);
  const width = from === null || to === null ? 0 : (to - from) / bins.length;
  bins.forEach((count, i) => {
    const height = (count / most) * HEIGHT;
    const bar = element('rect', { class: 'bin', x: i * step + 0.5, y: HEIGHT - height, width: step - 1, height });
    const title = document.createElementNS(SVG, 'title');
    const begin = (from ?? 0) + i * width;
    title.textContent = `${count} from ${numberOf(begin)} to ${numberOf(begin + width)}`;
    bar.append(title);
    svg.append(bar);
  });
  svg.append(element('line', { class: 'axis', x1: 0, x2: WIDTH, y1: HEIGHT, y2: HEIGHT }));
  const frame = document.createElement('div');
  frame.append(svg, scale(from, to));
  return frame;
}

/**
 * The ends of the axis, and zero where it lies between them.
 * @param {number | null} from
 * @param {number | null} to
 */
function scale(from, to) {
  const row = document.createElement('div');
  row.className = 'scale quiet';
  if (from === null || to === null) return row;
  const zero = (0 - from) / (to - from);
  const marks = [from, ...(zero > 0.12 && zero < 0.88 ? [0] : []), to];
  for (const mark of marks) {
    const label = document.createElement('span');
    label.textContent = numberOf(mark);
    if (mark === 0 && marks.length === 3) label.style.left = `${zero * 100}%`;
    row.append(label);
  }
  return row;
}

/** @param {import('./server.js').Histogram} histogram */
function facts({ elements, counted, notFinite, min, max, mean, deviation }) {
  const paragraph = document.createElement('p');
  paragraph.className = 'facts';
  const seen =
    counted < elements
      ? `${counted.toLocaleString('en')} of ${elements.toLocaleString('en')} values`
      : `${elements.toLocaleString('en')} values`;
  const odd = notFinite > 0 ? `, ${notFinite.toLocaleString('en')} not finite` : '';
  paragraph.textContent = `${seen}${odd} · ${numberOf(min)} to ${numberOf(max)} · mean ${numberOf(mean)} · deviation ${numberOf(deviation)}`;
  return paragraph;
}

/**
 * @param {string} name
 * @param {Record<string, string | number>} attributes
 */
function element(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, String(value));
  return made;
}

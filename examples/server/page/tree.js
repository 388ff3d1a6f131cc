// Owns the tree of tensors: names split at their dots, sizes added up, bars of what is in memory.
// Refuses to make rows that nobody has opened, since a model may have tens of thousands.

import { percentOf, shareOf, sizeOf } from './units.js';

/** @typedef {import('./server.js').Tensor} Tensor */

/** One name, or one part of many names. */
class Node {
  /** @type {Map<string, Node>} */
  children = new Map();
  /** @type {Tensor | undefined} */
  tensor;
  byteLength = 0;
  /** @type {number | null} */
  residentBytes = null;
  /** @type {((share: number | undefined) => void) | undefined} */
  draw;

  /** @param {string} label */
  constructor(label) {
    this.label = label;
  }
}

/** The tree of one model. */
export class Tree {
  #root = new Node('');
  /** @type {Node[][]} of each tensor: the nodes from the root to it */
  #paths = [];
  /** @type {(tensor: Tensor) => void} */
  #onChoose;
  /** @type {Tensor | undefined} */
  #chosen;
  /** @type {Map<Tensor, HTMLElement>} those that were made */
  #leaves = new Map();

  /**
   * @param {HTMLElement} place
   * @param {readonly Tensor[]} tensors
   * @param {(tensor: Tensor) => void} onChoose
   */
  constructor(place, tensors, onChoose) {
    this.#onChoose = onChoose;
    for (const tensor of tensors) this.#paths.push(this.#add(tensor));
    place.replaceChildren(...this.#rows(this.#root, true));
  }

  /**
   * Draws what is in memory now.
   * @param {readonly (number | null)[]} resident bytes of each tensor
   */
  update(resident) {
    for (const path of this.#paths) for (const node of path) node.residentBytes = 0;
    this.#paths.forEach((path, index) => {
      const bytes = resident[index] ?? null;
      for (const node of path) {
        node.residentBytes = bytes === null || node.residentBytes === null ? null : node.residentBytes + bytes;
      }
    });
    for (const path of this.#paths) {
      for (const node of path) node.draw?.(shareOf(node.residentBytes, node.byteLength));
    }
  }

  /**
   * Chooses a tensor, as a click on its row does.
   * @param {Tensor} tensor
   */
  choose(tensor) {
    if (this.#chosen !== undefined) this.#leaves.get(this.#chosen)?.setAttribute('aria-pressed', 'false');
    this.#chosen = tensor;
    this.#leaves.get(tensor)?.setAttribute('aria-pressed', 'true');
    this.#onChoose(tensor);
  }

  /** @param {Tensor} tensor */
  #add(tensor) {
    let node = this.#root;
    const path = [];
    for (const part of tensor.name.split('.')) {
      let child = node.children.get(part);
      if (child === undefined) {
        child = new Node(part);
        node.children.set(part, child);
      }
      child.byteLength += tensor.byteLength;
      path.push(child);
      node = child;
    }
    node.tensor = tensor;
    return path;
  }

  /**
   * @param {Node} parent
   * @param {boolean} isTop
   * @returns {HTMLElement[]}
   */
  #rows(parent, isTop = false) {
    const nodes = [...parent.children.values()].map(joined);
    nodes.sort((a, b) => a.label.localeCompare(b.label, 'en', { numeric: true }));
    return nodes.flatMap((node) => {
      const rows = node.tensor === undefined ? [] : [this.#leaf(node, node.tensor)];
      return node.children.size === 0 ? rows : [...rows, this.#branch(node, isTop)];
    });
  }

  /**
   * @param {Node} node
   * @param {boolean} isOpen
   */
  #branch(node, isOpen) {
    const details = document.createElement('details');
    const summary = document.createElement('summary');
    summary.className = 'row';
    fill(summary, node, node.label, '');
    const inside = document.createElement('div');
    const open = () => {
      if (details.open && inside.childElementCount === 0) inside.append(...this.#rows(node));
    };
    details.addEventListener('toggle', open);
    details.append(summary, inside);
    details.open = isOpen;
    open();
    return details;
  }

  /**
   * @param {Node} node
   * @param {Tensor} tensor
   */
  #leaf(node, tensor) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'row';
    button.title = tensor.name;
    button.setAttribute('aria-pressed', String(tensor === this.#chosen));
    this.#leaves.set(tensor, button);
    fill(button, node, node.label, ` ${tensor.dtype} [${tensor.shape.join(', ')}]`);
    button.addEventListener('click', () => this.choose(tensor));
    return button;
  }
}

/**
 * A branch that leads to one other branch only is one row with it.
 * @param {Node} node
 * @returns {Node}
 */
function joined(node) {
  const labels = [node.label];
  let last = node;
  while (last.tensor === undefined && last.children.size === 1) {
    last = /** @type {Node} */ (last.children.values().next().value);
    labels.push(last.label);
  }
  last.label = labels.join('.');
  return last;
}

/**
 * @param {HTMLElement} row
 * @param {Node} node
 * @param {string} label
 * @param {string} shape
 */
function fill(row, node, label, shape) {
  const name = span('name', label);
  name.append(span('shape', shape));
  const bar = span('bar', '');
  const inner = span('', '');
  bar.append(inner);
  bar.setAttribute('role', 'img');
  row.append(name, span('size', sizeOf(node.byteLength)), bar);
  node.draw = (share) => {
    inner.style.width = `${(share ?? 0) * 100}%`;
    const told = `${percentOf(share)} in memory`;
    if (bar.title === told) return;
    bar.title = told;
    bar.setAttribute('aria-label', told);
  };
  node.draw(shareOf(node.residentBytes, node.byteLength));
}

/**
 * @param {string} name
 * @param {string} text
 */
function span(name, text) {
  const element = document.createElement('span');
  element.className = name;
  element.textContent = text;
  return element;
}

// Owns the shapes of a header, each kept once: half a million tensors have a few dozen.
// Refuses to search long for an equal one; a file made to defeat it only takes more memory.

const FIRST_DIMS = 256;
const FIRST_SHAPES = 64;

/** Slots looked at for an equal shape before a new one is kept. */
const MOST_PROBES = 8;
const SLOTS = 1 << 12;

/** A growing list of shapes, numbered from 0. */
export class ShapeTable {
  #dims = new Float64Array(FIRST_DIMS);
  /** Shape k is #dims[#begin[k] … #begin[k + 1]). */
  #begin = new Uint32Array(FIRST_SHAPES + 1);
  #count = 0;
  /** Where the next dimension goes: after all shapes and those of the one being read. */
  #next = 0;
  /** Numbers of shapes plus 1, by the low bits of their hash. */
  readonly #slots = new Int32Array(SLOTS);

  /** Adds a dimension to the shape being read. */
  push(dim: number): void {
    if (this.#next === this.#dims.length) this.#growDims();
    this.#dims[this.#next++] = dim;
  }

  /** Ends the shape being read; returns its number. */
  finish(): number {
    const dims = this.#dims;
    const from = this.#begin[this.#count]!;
    const length = this.#next - from;
    let hash = length;
    for (let i = from; i < this.#next; i++) hash = (Math.imul(hash, 31) + (dims[i]! | 0)) | 0;
    let slot = (hash ^ (hash >>> 12)) & (SLOTS - 1);
    for (let probe = 0; probe < MOST_PROBES; probe++, slot = (slot + 1) & (SLOTS - 1)) {
      const other = this.#slots[slot]! - 1;
      if (other < 0) {
        this.#slots[slot] = this.#count + 1;
        break;
      }
      if (this.#equals(other, from, length)) {
        this.#next = from;
        return other;
      }
    }
    if (this.#count + 1 === this.#begin.length) this.#growShapes();
    this.#begin[++this.#count] = this.#next;
    return this.#count - 1;
  }

  /** Number of dimensions of a shape. */
  rank(shape: number): number {
    return this.#begin[shape + 1]! - this.#begin[shape]!;
  }

  dim(shape: number, index: number): number {
    return this.#dims[this.#begin[shape]! + index]!;
  }

  /** A shape as an array of its own. */
  toArray(shape: number): number[] {
    return Array.from(this.#dims.subarray(this.#begin[shape], this.#begin[shape + 1]));
  }

  #equals(other: number, from: number, length: number): boolean {
    const begin = this.#begin[other]!;
    if (this.#begin[other + 1]! - begin !== length) return false;
    for (let i = 0; i < length; i++) if (this.#dims[begin + i] !== this.#dims[from + i]) return false;
    return true;
  }

  #growDims(): void {
    const larger = new Float64Array(this.#dims.length * 2);
    larger.set(this.#dims);
    this.#dims = larger;
  }

  #growShapes(): void {
    const larger = new Uint32Array(this.#begin.length * 2);
    larger.set(this.#begin);
    this.#begin = larger;
  }
}

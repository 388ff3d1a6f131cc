// Owns the choice of a tensor to compute over, and the figures of it. Refuses tensors that would take many seconds.
// The loops count up: over a typed array that is several times faster than for … of.

/** Elements that two passes of a plain loop take a second or two for. */
const MOST_ELEMENTS = 2 ** 26;

/** F64 to F4, and BF16. */
const FLOATS = /^B?F\d/;

const BINS = 9;
const BAR = 50;

/**
 * The largest tensor of floats, else the first one with any data.
 * @param {import('safetensors-mmap').SafeTensorsModel} model
 * @returns {string | undefined}
 */
export function chooseTensor(model) {
  let chosen;
  let most = 0;
  let other;
  for (const name of model.keys()) {
    const { dtype, shape } = model.info(name);
    const length = shape.reduce((product, dimension) => product * dimension, 1);
    if (length > 0) other ??= name;
    if (!FLOATS.test(dtype) || length <= most || length > MOST_ELEMENTS) continue;
    most = length;
    chosen = name;
  }
  return chosen ?? other;
}

/**
 * The tensor's elements as numbers, and how they came; undefined when it has no floats.
 * @param {import('safetensors-mmap').TensorView} tensor
 * @returns {{ values: Float32Array, how: string } | undefined}
 */
export function floatsOf(tensor) {
  if (!FLOATS.test(tensor.dtype)) return undefined;
  if (tensor.dtype !== 'F32') return { values: tensor.toFloat32Array(), how: 'converted to float32' };
  const values = /** @type {Float32Array} */ (tensor.data);
  return { values, how: tensor.isView ? 'zero-copy' : 'a copy' };
}

/**
 * Mean, deviation, extremes and a histogram; NaN and infinities are counted and left out.
 * @param {Float32Array} values
 */
export function* statistics(values) {
  const { count, mean, least, greatest } = summary(values);
  if (count < values.length) yield `${values.length - count} of ${values.length} values are NaN or infinite`;
  if (count === 0) return;
  const { deviation, bins } = spread(values, mean, least, greatest);
  yield `mean ${short(mean)}, deviation ${short(deviation)}, least ${short(least)}, greatest ${short(greatest)}`;
  if (least === greatest) return;
  const fullest = Math.max(...bins);
  for (const [bin, inBin] of bins.entries()) {
    const middle = least + ((bin + 0.5) * (greatest - least)) / BINS;
    const bar = '#'.repeat(Math.ceil((inBin / fullest) * BAR));
    yield `${short(middle).padStart(11)} ${bar.padEnd(BAR)} ${inBin}`;
  }
}

/** @param {Float32Array} values */
function summary(values) {
  let count = 0;
  let sum = 0;
  let least = Number.POSITIVE_INFINITY;
  let greatest = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < values.length; i++) {
    const value = /** @type {number} */ (values[i]);
    if (!Number.isFinite(value)) continue;
    count++;
    sum += value;
    if (value < least) least = value;
    if (value > greatest) greatest = value;
  }
  return { count, mean: sum / count, least, greatest };
}

/**
 * @param {Float32Array} values
 * @param {number} mean
 * @param {number} least
 * @param {number} greatest
 */
function spread(values, mean, least, greatest) {
  const bins = new Float64Array(BINS);
  const perBin = greatest > least ? BINS / (greatest - least) : 0;
  let count = 0;
  let squares = 0;
  for (let i = 0; i < values.length; i++) {
    const value = /** @type {number} */ (values[i]);
    if (!Number.isFinite(value)) continue;
    count++;
    squares += (value - mean) * (value - mean);
    const bin = Math.min(BINS - 1, Math.floor((value - least) * perBin));
    bins[bin] = (bins[bin] ?? 0) + 1;
  }
  return { deviation: Math.sqrt(squares / count), bins };
}

/** @param {number} value */
function short(value) {
  return String(Number(value.toPrecision(4)));
}

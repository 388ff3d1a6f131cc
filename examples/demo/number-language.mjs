// Owns the model of examples/models as a function: a number in words goes in, its probable languages come out.
// Refuses to keep anything of the file: the weights are used where they lie. make_demo_model.py says what they mean.

export const PHRASES = [
  'twenty-one',
  'achtundneunzig',
  'quatre-vingt-dix-sept',
  'settantasette',
  'ochocientos dos',
  'setecentos e um',
  'zeshonderd',
  'tvåtusen fem',
];

/**
 * Of an open model, what is used here.
 * @typedef {object} Weights
 * @property {ReadonlyMap<string, string>} metadata
 * @property {(name: string) => { readonly data: ArrayLike<unknown> }} tensor
 */

/**
 * @param {Weights} model
 * @returns {(text: string) => { label: string, logit: number, probability: number }[]} likeliest first
 */
export function numberLanguage(model) {
  const { labels, ngrams, buckets, embedding_size: size, layer_norm_eps: epsilon } = configOf(model);
  const weights = (/** @type {string} */ name) => /** @type {ArrayLike<number>} */ (model.tensor(name).data);
  const embedding = weights('embedding.weight');
  const layers = [0, 1].map((k) => linear(weights(`encoder.layers.${k}.weight`), weights(`encoder.layers.${k}.bias`)));
  const scale = weights('encoder.norm.weight');
  const shift = weights('encoder.norm.bias');
  const classifier = linear(weights('classifier.weight'), weights('classifier.bias'));

  return (text) => {
    const rows = featuresOf(text, ngrams.sizes, buckets);
    let x = Array.from({ length: size }, (_, i) => average(rows.map((row) => at(embedding, row * size + i))));
    for (const layer of layers) x = layer(x).map((value) => Math.max(0, value));
    const mean = average(x);
    const deviation = Math.sqrt(average(x.map((value) => (value - mean) ** 2)) + epsilon);
    const logits = classifier(x.map((value, i) => ((value - mean) / deviation) * at(scale, i) + at(shift, i)));
    const total = logits.reduce((sum, logit) => sum + Math.exp(logit), 0);
    return labels
      .map((label, i) => ({ label, logit: at(logits, i), probability: Math.exp(at(logits, i)) / total }))
      .sort((a, b) => b.logit - a.logit);
  };
}

/**
 * @param {Weights} model
 * @returns {{ labels: string[], ngrams: { sizes: number[] }, buckets: number, embedding_size: number,
 *   layer_norm_eps: number }}
 */
function configOf(model) {
  return JSON.parse(model.metadata.get('config') ?? '{}');
}

/**
 * x → weight · x + bias; one row of `weight` for each output.
 * @param {ArrayLike<number>} weight
 * @param {ArrayLike<number>} bias
 * @returns {(x: number[]) => number[]}
 */
function linear(weight, bias) {
  return (x) =>
    Array.from(bias, (start, row) => x.reduce((sum, value, i) => sum + at(weight, row * x.length + i) * value, start));
}

/**
 * An element that is there: the shapes say so.
 * @param {ArrayLike<number>} values
 * @param {number} index
 */
function at(values, index) {
  return /** @type {number} */ (values[index]);
}

/** @param {number[]} values */
function average(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/**
 * The rows of the embedding: one for each run of 1 to 4 bytes of the text between its marks.
 * @param {string} text
 * @param {number[]} sizes
 * @param {number} buckets
 */
function featuresOf(text, sizes, buckets) {
  const bytes = new TextEncoder().encode(`^${text}$`);
  const rows = [];
  for (const size of sizes) {
    for (let begin = 0; begin + size <= bytes.length; begin++) {
      rows.push(fnv1a(bytes.subarray(begin, begin + size)) % buckets);
    }
  }
  return rows;
}

/**
 * FNV-1a, 32 bits.
 * @param {Uint8Array} bytes
 */
function fnv1a(bytes) {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}

// Owns the talk with the server: requests, the stream of events, and errors as sentences. Refuses to touch the document.

/**
 * @typedef {{ name: string, dtype: string, shape: number[], byteLength: number }} Tensor
 * @typedef {{ doneBytes: number, totalBytes: number }} Prefetch
 * @typedef {{ name: string, state: string, prefetch: Prefetch, mappedBytes: number, tensors: Tensor[] }} Model
 * @typedef {{ state: string, prefetch: Prefetch, bytes: number, residentBytes: number | null, tensors: (number | null)[] }} Residency
 * @typedef {{ elements: number, counted: number, notFinite: number, min: number | null, max: number | null,
 *   mean: number | null, deviation: number | null, from: number | null, to: number | null, bins: number[] }} Histogram
 */

/** @returns {Promise<Model[]>} */
export async function getModels() {
  return (await request('/models')).models;
}

/**
 * @param {string} model
 * @returns {Promise<Residency>}
 */
export function getResidency(model) {
  return request(`/models/${encodeURIComponent(model)}/residency`);
}

/**
 * @param {string} model
 * @param {string} tensor
 * @param {AbortSignal} signal
 * @returns {Promise<Histogram>}
 */
export function getHistogram(model, tensor, signal) {
  return request(`/models/${encodeURIComponent(model)}/histogram?tensor=${encodeURIComponent(tensor)}`, { signal });
}

/**
 * @param {string} model
 * @param {'prefetch' | 'evict'} action
 * @returns {Promise<unknown>}
 */
export function act(model, action) {
  return request(`/models/${encodeURIComponent(model)}/${action}`, { method: 'POST' });
}

/**
 * The events of one generation, each with its name and data.
 * @param {object} body
 * @param {AbortSignal} signal
 */
export async function* generate(body, signal) {
  const response = await fetch('/generate', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal,
  });
  if (!response.ok || response.body === null) throw await problemOf(response);
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const frames = (rest + decoder.decode(value, { stream: true })).split('\n\n');
    rest = frames.pop() ?? '';
    for (const frame of frames) yield eventOf(frame);
  }
}

/** @param {string} frame */
function eventOf(frame) {
  const [, event = '', data = 'null'] = /^event: (.*)\ndata: (.*)$/s.exec(frame) ?? [];
  return { event, data: JSON.parse(data) };
}

/**
 * @param {string} path
 * @param {RequestInit} [init]
 */
async function request(path, init) {
  const response = await fetch(path, init);
  if (!response.ok) throw await problemOf(response);
  return response.json();
}

/**
 * The server's own words where it has any.
 * @param {Response} response
 */
async function problemOf(response) {
  try {
    const { error } = await response.json();
    return new Error(`${error.code}: ${error.message}`);
  } catch {
    return new Error(`the server answered ${response.status}`);
  }
}

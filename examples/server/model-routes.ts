// Owns the answers about models: which there are, their tensors, what is in memory, the histogram of one tensor.
// Refuses to send values: a histogram is what leaves the server of a tensor.

import type { FastifyInstance } from 'fastify';
import { SafeTensorsError, type SafeTensorsModel } from 'safetensors-mmap';
import { histogramOf } from './histogram.js';
import type { Limits } from './limits.js';
import type { Models } from './models.js';
import { Problem } from './problems.js';
import type { ServedModel } from './served-model.js';
import { Slots } from './slots.js';

const BINS = 48;

interface OfModel {
  Params: { name: string };
}

interface OfTensor {
  Params: { name: string; tensor: string };
}

/** Adds GET /models and what is below it. */
export function addModelRoutes(app: FastifyInstance, models: Models, limits: Limits): void {
  const histograms = new Slots('histograms', limits.histograms);

  app.get('/models', async () => ({ models: await Promise.all(Array.from(models, describe)) }));

  app.get<OfModel>('/models/:name', async ({ params }) => describe(models.require(params.name)));

  app.get<OfModel>('/models/:name/residency', async ({ params }) => {
    const model = models.require(params.name);
    const { state, prefetch } = model;
    return { state, prefetch, ...(await model.requireResidency().report()) };
  });

  app.post<OfModel>('/models/:name/prefetch', async ({ params }, reply) => {
    models.require(params.name).beginPrefetch();
    return reply.code(202).send({ state: 'loading' });
  });

  app.post<OfModel>('/models/:name/evict', async ({ params }) => {
    const model = models.require(params.name);
    await model.evict();
    return { state: model.state };
  });

  app.get<OfTensor>('/models/:name/tensors/:tensor/histogram', async ({ params }, reply) => {
    const { weights } = models.require(params.name).require();
    const tensor = requireTensor(weights, params.tensor);
    const gone = new AbortController();
    reply.raw.once('close', () => gone.abort(new Problem(499, 'DISCONNECTED', 'the client has gone')));
    return histograms.run(() => histogramOf(tensor, BINS, gone.signal).catch(explain));
  });
}

async function describe(model: ServedModel): Promise<unknown> {
  const { name, state, prefetch, mappedBytes } = model;
  if (state === 'opening' || state === 'failed') {
    return { name, state, prefetch, mappedBytes, residentBytes: null, tensors: [] };
  }
  const { weights } = model.require();
  const { residentBytes } = await model.requireResidency().report();
  return { name, state, prefetch, mappedBytes, residentBytes, tensors: tensorsOf(weights) };
}

function tensorsOf(weights: SafeTensorsModel): unknown[] {
  return Array.from(weights.keys(), (name) => {
    const { dtype, shape, data_offsets } = weights.info(name);
    return { name, dtype, shape, byteLength: data_offsets[1] - data_offsets[0] };
  });
}

function requireTensor(weights: SafeTensorsModel, name: string) {
  try {
    return weights.tensor(name);
  } catch (error) {
    if (!(error instanceof SafeTensorsError) || error.code !== 'TENSOR_NOT_FOUND') throw error;
    throw new Problem(404, error.code, `there is no tensor ${JSON.stringify(name.slice(0, 120))} in this model`);
  }
}

/** What the library refuses of a tensor is no failure of the server. */
function explain(error: unknown): never {
  if (error instanceof SafeTensorsError && ['INVALID_ARGUMENT', 'SUB_BYTE_MISALIGNED'].includes(error.code)) {
    throw new Problem(422, error.code, 'the values of this tensor cannot be counted as numbers');
  }
  throw error;
}

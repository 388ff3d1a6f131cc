// Owns the answers about models: which there are, their tensors, what is in memory, the histogram of one tensor.
// Refuses to send values: a histogram is what leaves the server of a tensor.

import type { FastifyInstance } from 'fastify';
import { SafeTensorsError, type SafeTensorsModel } from 'safetensors-mmap';
import { onDeparture } from './departure.js';
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

interface OfTensor extends OfModel {
  Querystring: { tensor?: unknown };
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

  // Not a part of the path: names may be empty, "..", or longer than those of a folder.
  app.get<OfTensor>('/models/:name/histogram', async (request) => {
    const { weights } = models.require(request.params.name).require();
    const tensor = requireTensor(weights, request.query.tensor);
    return histograms.run(async () => {
      const gone = new AbortController();
      const stay = onDeparture(request, () => gone.abort(new Problem(499, 'DISCONNECTED', 'the client has gone')));
      return histogramOf(tensor, BINS, gone.signal).catch(explain).finally(stay);
    });
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

/** What never changes of a model: for tens of thousands of tensors it takes longer to find than to send. */
const tensorLists = new WeakMap<SafeTensorsModel, readonly unknown[]>();

function tensorsOf(weights: SafeTensorsModel): readonly unknown[] {
  const known = tensorLists.get(weights);
  if (known !== undefined) return known;
  const list = Array.from(weights.keys(), (name) => {
    const { dtype, shape, data_offsets } = weights.info(name);
    return { name, dtype, shape, byteLength: data_offsets[1] - data_offsets[0] };
  });
  tensorLists.set(weights, list);
  return list;
}

function requireTensor(weights: SafeTensorsModel, name: unknown) {
  if (typeof name !== 'string') throw new Problem(400, 'INVALID_REQUEST', 'name one tensor, as ?tensor=NAME');
  try {
    return weights.tensor(name);
  } catch (error) {
    if (!(error instanceof SafeTensorsError) || error.code !== 'TENSOR_NOT_FOUND') throw error;
    throw new Problem(404, error.code, `there is no tensor ${JSON.stringify(name.slice(0, 120))} in this model`);
  }
}

/** What the library refuses of a tensor is no failure of the server. */
const REFUSED: ReadonlyMap<string, string> = new Map([
  ['INVALID_ARGUMENT', 'the values of this tensor are no real numbers'],
  ['SUB_BYTE_MISALIGNED', 'rows of this tensor begin inside of a byte; it is too large to be read in one go'],
]);

function explain(error: unknown): never {
  const message = error instanceof SafeTensorsError ? REFUSED.get(error.code) : undefined;
  throw message === undefined ? error : new Problem(422, (error as SafeTensorsError).code, message);
}

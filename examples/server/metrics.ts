// Owns what the server counts, and GET /metrics. Refuses labels that a client could make up.

import { readFile } from 'node:fs/promises';
import { exposition, type Metric, type Sample } from './exposition.js';
import type { GenerationWatcher, Outcome } from './generations.js';
import { DELAY_BOUNDS, LoopDelay } from './loop-delay.js';
import type { Models } from './models.js';

/** Counts by labels. */
class Counter {
  readonly #counts = new Map<string, { readonly labels: Readonly<Record<string, string>>; value: number }>();

  add(labels: Readonly<Record<string, string>>): void {
    const key = JSON.stringify(labels);
    const count = this.#counts.get(key);
    if (count === undefined) this.#counts.set(key, { labels, value: 1 });
    else count.value += 1;
  }

  get samples(): readonly Sample[] {
    return [...this.#counts.values()];
  }
}

/** The counts of one server. */
export class Metrics implements GenerationWatcher {
  readonly #requests = new Counter();
  readonly #tokens = new Counter();
  readonly #generations = new Counter();
  readonly #delay = new LoopDelay();
  readonly #onFailure: (cause: unknown) => void;

  constructor(onFailure: (cause: unknown) => void) {
    this.#onFailure = onFailure;
  }

  onRequest(route: string, method: string, status: number): void {
    this.#requests.add({ route, method, status: String(status) });
  }

  onToken(model: string): void {
    this.#tokens.add({ model });
  }

  onEnd(model: string, outcome: Outcome): void {
    this.#generations.add({ model, outcome });
  }

  onFailure(cause: unknown): void {
    this.#onFailure(cause);
  }

  /** All of it as Prometheus reads it. */
  async text(models: Models, active: number): Promise<string> {
    return exposition([
      counter('http_requests_total', 'Answers by route, method and status.', this.#requests),
      gauge('generations_active', 'Generations under way.', [{ value: active }]),
      counter('generations_total', 'Generations that have ended, by outcome.', this.#generations),
      counter('generated_tokens_total', 'Tokens written.', this.#tokens),
      ...(await ofModels(models)),
      this.#ofDelay(),
      ...(await ofProcess()),
    ]);
  }

  stop(): void {
    this.#delay.stop();
  }

  #ofDelay(): Metric {
    const { buckets, count, sum } = this.#delay.read();
    const below = buckets.map((value, i) => ({ suffix: '_bucket', labels: { le: String(DELAY_BOUNDS[i]) }, value }));
    return {
      name: 'event_loop_delay_seconds',
      help: 'How late the event loop was, looked at a hundred times a second.',
      type: 'histogram',
      samples: [
        ...below,
        { suffix: '_bucket', labels: { le: '+Inf' }, value: count },
        { suffix: '_sum', value: sum },
        { suffix: '_count', value: count },
      ],
    };
  }
}

async function ofModels(models: Models): Promise<Metric[]> {
  const ready: Sample[] = [];
  const mapped: Sample[] = [];
  const resident: Sample[] = [];
  for (const model of models) {
    const labels = { model: model.name };
    const isOpen = model.state === 'loading' || model.state === 'ready';
    ready.push({ labels, value: Number(model.state === 'ready') });
    mapped.push({ labels, value: model.mappedBytes });
    const report = isOpen ? await model.requireResidency().report() : { residentBytes: 0 };
    if (report.residentBytes !== null) resident.push({ labels, value: report.residentBytes });
  }
  return [
    gauge('model_ready', '1 when the model is open and nothing is being brought into memory.', ready),
    gauge('model_mapped_bytes', 'Bytes of address space that the files of the model take.', mapped),
    gauge('model_resident_bytes', 'Bytes of the tensors that are in memory.', resident),
  ];
}

async function ofProcess(): Promise<Metric[]> {
  const { rss, heapUsed } = process.memoryUsage();
  const metrics = [
    gauge('process_resident_memory_bytes', 'Memory of the process, resident pages of files included.', [
      { value: rss },
    ]),
    gauge('process_heap_bytes', 'Memory that JavaScript objects take.', [{ value: heapUsed }]),
  ];
  // Linux tells the pages of files, which the system can take back at any time, from memory that is the process's own.
  const status = await readFile('/proc/self/status', 'utf8').catch(() => '');
  const anonymous = /^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1];
  if (anonymous !== undefined) {
    const value = Number(anonymous) * 1024;
    metrics.push(gauge('process_anonymous_memory_bytes', 'Memory of the process without pages of files.', [{ value }]));
  }
  return metrics;
}

function counter(name: string, help: string, { samples }: Counter): Metric {
  return { name, help, type: 'counter', samples };
}

function gauge(name: string, help: string, samples: readonly Sample[]): Metric {
  return { name, help, type: 'gauge', samples };
}

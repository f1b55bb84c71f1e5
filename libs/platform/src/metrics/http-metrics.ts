import { Counter, Histogram, type Registry } from 'prom-client';

/** How many requests were answered how, and how long they took. Routes are patterns, never paths. */
export class HttpMetrics {
  readonly #requests: Counter<'method' | 'route' | 'status'>;
  readonly #seconds: Histogram<'method' | 'route'>;
  readonly #tallies = new Map<
    string,
    { readonly labels: { method: string; route: string; status: number }; count: number }
  >();

  constructor(registry: Registry) {
    this.#requests = new Counter({
      name: 'mailwright_http_requests_total',
      help: 'Requests answered, by method, route and status.',
      labelNames: ['method', 'route', 'status'],
      registers: [registry],
      collect: () => this.#addTallies(),
    });
    this.#seconds = new Histogram({
      name: 'mailwright_http_request_duration_seconds',
      help: 'Duration of requests.',
      labelNames: ['method', 'route'],
      buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
      registers: [registry],
    });
  }

  /** One of very many short requests: counted, and not timed. */
  counted(method: string, route: string, status: number): void {
    const key = `${method} ${status} ${route}`;
    const tally = this.#tallies.get(key);
    if (tally === undefined) this.#tallies.set(key, { labels: { method, route, status }, count: 1 });
    else tally.count += 1;
  }

  #addTallies(): void {
    for (const { labels, count } of this.#tallies.values()) this.#requests.inc(labels, count);
    this.#tallies.clear();
  }

  answered(method: string, route: string, status: number, seconds: number): void {
    this.#requests.inc({ method, route, status });
    this.#seconds.observe({ method, route }, seconds);
  }
}

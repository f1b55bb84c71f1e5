import { Counter, Histogram, type Registry } from 'prom-client';

/** How many requests were answered how, and how long they took. Routes are patterns, never paths. */
export class HttpMetrics {
  readonly #requests: Counter<'method' | 'route' | 'status'>;
  readonly #seconds: Histogram<'method' | 'route'>;

  constructor(registry: Registry) {
    this.#requests = new Counter({
      name: 'mailwright_http_requests_total',
      help: 'Requests answered, by method, route and status.',
      labelNames: ['method', 'route', 'status'],
      registers: [registry],
    });
    this.#seconds = new Histogram({
      name: 'mailwright_http_request_duration_seconds',
      help: 'Duration of requests.',
      labelNames: ['method', 'route'],
      buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
      registers: [registry],
    });
  }

  answered(method: string, route: string, status: number, seconds: number): void {
    this.#requests.inc({ method, route, status });
    this.#seconds.observe({ method, route }, seconds);
  }
}

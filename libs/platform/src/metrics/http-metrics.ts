import { Counter, Histogram, type Registry } from 'prom-client';

/** Requests answered since they were last looked at. */
export class RequestTally {
  #count = 0;

  constructor(
    readonly labels: { readonly method: string; readonly route: string; readonly status: number },
  ) {}

  add(): void {
    this.#count += 1;
  }

  take(): number {
    const count = this.#count;
    this.#count = 0;
    return count;
  }
}

/** How many requests were answered how, and how long they took. Routes are patterns, never paths. */
export class HttpMetrics {
  readonly #requests: Counter<'method' | 'route' | 'status'>;
  readonly #seconds: Histogram<'method' | 'route'>;
  readonly #tallies: RequestTally[] = [];

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

  /** For very many short requests of one kind, which are counted, and not timed. */
  tally(method: string, route: string, status: number): RequestTally {
    const tally = new RequestTally({ method, route, status });
    this.#tallies.push(tally);
    return tally;
  }

  #addTallies(): void {
    for (const tally of this.#tallies) {
      const count = tally.take();
      if (count > 0) this.#requests.inc({ ...tally.labels }, count);
    }
  }

  answered(method: string, route: string, status: number, seconds: number): void {
    this.#requests.inc({ method, route, status });
    this.#seconds.observe({ method, route }, seconds);
  }
}

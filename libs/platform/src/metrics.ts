import { Injectable } from '@nestjs/common';
import type { Pool } from 'pg';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { ReadReplica } from './database/read-replica.js';

/** Each look wakes the process; the usual 10 ms would cost a worker at rest much of its CPU. */
const LAG_LOOKED_AT_EVERY_MS = 100;

/** The process itself (event-loop lag, memory, garbage collection) and its database connections. */
export function collectProcessMetrics(
  registry: Registry,
  { pool, replica }: { readonly pool: Pool; readonly replica?: Pick<ReadReplica, 'answered'> | undefined },
): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_LOOKED_AT_EVERY_MS });
  new Gauge({
    name: 'mailwright_database_connections',
    help: 'Connections of the pool, by state.',
    labelNames: ['state'] as const,
    registers: [registry],
    collect() {
      this.set({ state: 'used' }, pool.totalCount - pool.idleCount);
      this.set({ state: 'idle' }, pool.idleCount);
    },
  });
  new Gauge({
    name: 'mailwright_database_waiting',
    help: 'Transactions that wait for a connection.',
    registers: [registry],
    collect() {
      this.set(pool.waitingCount);
    },
  });
  if (replica !== undefined) collectReplicaReads(registry, replica.answered);
}

function collectReplicaReads(registry: Registry, answered: Readonly<Record<string, number>>): void {
  new Counter({
    name: 'mailwright_late_reads_total',
    help: 'Reads that the read replica may answer, by the server that did.',
    labelNames: ['server'] as const,
    registers: [registry],
    collect() {
      this.reset();
      for (const [server, count] of Object.entries(answered)) this.inc({ server }, count);
    },
  });
}

const KINDS = ['OPT_IN', 'CAMPAIGN', 'AUTOMATION', 'TEST', 'MESSAGE'];
const OUTCOMES = ['SENT', 'DEFERRED', 'FAILED', 'SKIPPED', 'AMBIGUOUS'];

/** Outcomes of mails by kind, and the reasons why mails wait. */
export class MailMetrics {
  readonly #outcomes: Counter<'kind' | 'outcome'>;
  readonly #held: Counter<'reason' | 'destination'>;
  readonly #slowDowns: Counter<'destination'>;
  readonly #slowUntil: Gauge<'destination'>;
  readonly #senderStops: Counter;
  readonly #routePauses: Counter;
  readonly #routePausedUntil: Gauge;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#outcomes = new Counter({
      name: 'mailwright_mails_total',
      help: 'Attempts to send a mail, by kind and outcome.',
      labelNames: ['kind', 'outcome'],
      registers,
    });
    // From 0 on, so that an alert sees the first one as an increase.
    for (const kind of KINDS) for (const outcome of OUTCOMES) this.#outcomes.inc({ kind, outcome }, 0);
    this.#held = new Counter({
      name: 'mailwright_mails_held_total',
      help: 'Mails that were made to wait for their turn, by reason and mailbox provider.',
      labelNames: ['reason', 'destination'],
      registers,
    });
    this.#slowDowns = new Counter({
      name: 'mailwright_slow_downs_total',
      help: 'Times that a destination was slowed down, by mailbox provider.',
      labelNames: ['destination'],
      registers,
    });
    this.#slowUntil = new Gauge({
      name: 'mailwright_slow_until_seconds',
      help: 'Unix time up to which a destination is slowed down, by mailbox provider.',
      aggregator: 'max',
      labelNames: ['destination'],
      registers,
    });
    this.#senderStops = new Counter({
      name: 'mailwright_sender_stops_total',
      help: 'Times that a sending domain was stopped since its mail is refused for its sender.',
      registers,
    });
    this.#routePauses = new Counter({
      name: 'mailwright_route_pauses_total',
      help: 'Times that sending rested since the relay could not be used.',
      registers,
    });
    this.#routePausedUntil = new Gauge({
      name: 'mailwright_route_paused_until_seconds',
      help: 'Unix time up to which sending rests since the relay cannot be used; 0 once it answers.',
      aggregator: 'max',
      registers,
    });
  }

  count(kind: string, outcome: string, mails = 1): void {
    this.#outcomes.inc({ kind, outcome }, mails);
  }

  held(reason: string, destination: string, mails: number): void {
    this.#held.inc({ reason, destination }, mails);
  }

  slowedDown(destination: string): void {
    this.#slowDowns.inc({ destination });
  }

  isSlowUntil(destination: string, until: Date): void {
    this.#slowUntil.set({ destination }, until.getTime() / 1_000);
  }

  senderStopped(): void {
    this.#senderStops.inc();
  }

  routePaused(until: Date): void {
    this.#routePauses.inc();
    this.#routePausedUntil.set(until.getTime() / 1_000);
  }

  routeAnswered(): void {
    this.#routePausedUntil.set(0);
  }
}

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

/** Counts and durations of answered requests. Routes are patterns, never paths. */
@Injectable()
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

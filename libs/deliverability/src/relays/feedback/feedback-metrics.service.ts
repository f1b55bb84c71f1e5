import { Injectable } from '@nestjs/common';
import { Counter, Registry } from 'prom-client';
import type { RelayKind } from '../kinds/kinds.js';

/** What became of an event: `foreign` names a mail of another project, `unknown` none of ours. */
export type FeedbackResult = 'taken' | 'by-message-id' | 'delivered' | 'foreign' | 'unknown';

/** What providers posted, by kind of relay. */
@Injectable()
export class FeedbackMetrics {
  readonly #events: Counter<'kind' | 'result'>;
  readonly #refused: Counter<'kind'>;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#events = new Counter({
      name: 'mailwright_feedback_events_total',
      help: 'Events that providers posted, by kind of relay and what became of them.',
      labelNames: ['kind', 'result'],
      registers,
    });
    this.#refused = new Counter({
      name: 'mailwright_feedback_refused_total',
      help: 'Posts of events whose proof was wrong, by kind of relay.',
      labelNames: ['kind'],
      registers,
    });
  }

  count(kind: RelayKind, result: FeedbackResult): void {
    this.#events.inc({ kind, result });
  }

  refused(kind: RelayKind): void {
    this.#refused.inc({ kind });
  }
}

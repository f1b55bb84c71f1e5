import { Counter, Gauge, type Registry } from 'prom-client';

const KINDS = ['OPT_IN', 'CAMPAIGN', 'AUTOMATION', 'TEST'];
const OUTCOMES = ['SENT', 'DEFERRED', 'FAILED', 'SKIPPED', 'AMBIGUOUS'];

/** How many mails ended how, by kind of mail, and what kept them waiting. */
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

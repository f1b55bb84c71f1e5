import { Counter, type Registry } from 'prom-client';

/** How many mails ended how, by kind of mail. */
export class MailMetrics {
  readonly #outcomes: Counter<'kind' | 'outcome'>;

  constructor(registry: Registry) {
    this.#outcomes = new Counter({
      name: 'mailwright_mails_total',
      help: 'Attempts to send a mail, by kind and outcome.',
      labelNames: ['kind', 'outcome'],
      registers: [registry],
    });
  }

  count(kind: string, outcome: string, mails = 1): void {
    this.#outcomes.inc({ kind, outcome }, mails);
  }
}

import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { Database, logFailure, LOGGER, Loop, Notifications } from '#platform';
import { SIMULATIONS_CHANNEL } from './mailbox-simulations.query.js';
import type { Simulation } from './mailbox-simulation.js';
import { SimulatedAnswers } from './simulated-answers.service.js';
import { SimulatedReader } from './simulated-reader.service.js';

const LOOK_EVERY_MS = 10_000;
const ACCEPTED_SOON_MS = 50;
const AT_ONCE = 200;

/**
 * Lets the mailboxes of simulated addresses act on the mails of the test environment that they accepted. There is a
 * note for each in messaging.mailbox_simulations, which outlives a worker that dies.
 */
@Injectable()
export class MailboxSimulator {
  readonly #loop: Loop;
  #stopListening: () => void = () => undefined;
  #soon: NodeJS.Timeout | undefined;

  constructor(
    private readonly database: Database,
    private readonly notifications: Notifications,
    private readonly reader: SimulatedReader,
    private readonly answers: SimulatedAnswers,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.#loop = new Loop(
      LOOK_EVERY_MS,
      () => this.pass(),
      (error) => logFailure(this.logger, error, 'simulating mailboxes failed'),
    );
  }

  start(): void {
    this.#stopListening = this.notifications.listen(SIMULATIONS_CHANNEL, () => this.#loop.wake());
    this.#loop.start();
  }

  async stop(): Promise<void> {
    this.#stopListening();
    clearTimeout(this.#soon);
    await this.#loop.stop();
  }

  /** Simulates all mails that are recorded as accepted by now, and looks again soon for the rest. */
  async pass(): Promise<void> {
    for (;;) {
      const { ready, isWaiting } = await this.#due();
      const failures = await this.#actAll(ready);
      if (ready.length === AT_ONCE && failures === 0) continue;
      clearTimeout(this.#soon);
      if (isWaiting) this.#soon = setTimeout(() => this.#loop.wake(), ACCEPTED_SOON_MS);
      return;
    }
  }

  /** One that fails does not hold up the others; it is tried again at the next pass. */
  async #actAll(simulations: readonly Simulation[]): Promise<number> {
    let failures = 0;
    for (const simulation of simulations) {
      try {
        await this.#act(simulation);
      } catch (error) {
        failures += 1;
        logFailure(this.logger, error, 'simulating a mailbox failed');
      }
    }
    return failures;
  }

  #act(simulation: Simulation): Promise<void> {
    const { behaviour } = simulation;
    return behaviour === 'opened' || behaviour === 'clicked'
      ? this.reader.look(simulation, behaviour)
      : this.answers.answer(simulation, behaviour);
  }

  #due(): Promise<{ ready: Simulation[]; isWaiting: boolean }> {
    return this.database.system(async () => {
      const tables = this.database.tables();
      const ready = await sql<Simulation>`
        select s.delivery_id, s.behaviour, s.environment_id,
          case when d.kind = 'CAMPAIGN' then d.source_id end as campaign_id, d.source_id, d.queued_on, d.locale, d.state
        from messaging.mailbox_simulations s
        cross join lateral (
          select * from messaging.deliveries d where d.id = s.delivery_id and d.environment_id = s.environment_id
        ) d
        where d.finished_at is not null order by s.created_at limit ${AT_ONCE}
      `.execute(tables);
      const waiting = await sql<{ is: boolean }>`
        select exists (
          select 1 from messaging.mailbox_simulations s
          cross join lateral (
            select d.finished_at from messaging.deliveries d
            where d.id = s.delivery_id and d.environment_id = s.environment_id
          ) d
          where d.finished_at is null
        ) as is
      `.execute(tables);
      return { ready: ready.rows, isWaiting: waiting.rows[0]?.is === true };
    });
  }
}

import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, type ProjectScope } from '#kernel';
import { Database, neverJoined } from '#platform';
import { held, notComposed } from '../delivery-outcome.js';
import type { DeliveryWork, PreparedDelivery } from '../delivery-source.js';
import { AutomationMails, type AutomationMailStep, keyOf } from '../mails/automation-mails.service.js';
import { footerLocaleOf } from '../mails/mail-compiler.service.js';
import { Deadline } from './deadline.js';
import { MailBatches, withoutMail } from './mail-batches.service.js';

/** How long mails that are not compiled yet hold up the others. */
const LONGEST_WAIT_MS = 2_000;

type StepOfMail = Pick<AutomationMailStep, 'versionId' | 'place'>;

/** Makes the mails of automations' steps. */
@Injectable()
export class AutomationMailPreparation {
  constructor(
    private readonly database: Database,
    private readonly mails: AutomationMails,
    private readonly batches: MailBatches,
    private readonly clock: Clock,
  ) {}

  async prepare(works: readonly DeliveryWork[]): Promise<PreparedDelivery[]> {
    const deadline = new Deadline(LONGEST_WAIT_MS);
    const prepared: PreparedDelivery[] = [];
    for (const ofScope of Map.groupBy(works, ({ scope }) => scope.environmentId).values()) {
      const steps = await this.#stepsOf(ofScope[0]!.scope, ofScope);
      const mailOf = ({ delivery: { sourceId, queuedOn, locale } }: DeliveryWork) => {
        const step = steps.get(sourceId);
        return step && { ...step, queuedOn, footerLocale: footerLocaleOf(locale, null) };
      };
      const key = (work: DeliveryWork) => {
        const mail = mailOf(work);
        return mail === undefined ? '' : keyOf(mail);
      };
      for (const ofStep of Map.groupBy(ofScope, key).values())
        prepared.push(...(await this.#prepareStep(ofStep, mailOf(ofStep[0]!), deadline)));
    }
    return prepared;
  }

  /** By the deliveries' source: which step of which version it is. */
  #stepsOf(scope: ProjectScope, works: readonly DeliveryWork[]): Promise<ReadonlyMap<string, StepOfMail>> {
    const sources = works.map(({ delivery }) => delivery.sourceId);
    return this.database.transaction(scope, async () => {
      const { rows } = await sql<StepOfMail & { sourceId: string }>`
        select s.id as source_id, r.version_id, messaging.place_of_step(s.id) as place
        from unnest(${sources}::uuid[]) s(id)
        cross join lateral (
          select r.version_id from messaging.automation_runs r
          where r.id = messaging.run_of_step(s.id) and r.environment_id = ${scope.environmentId} ${neverJoined}
        ) r
      `.execute(this.database.tables());
      return new Map(rows.map(({ sourceId, ...step }) => [sourceId, step]));
    });
  }

  async #prepareStep(
    works: readonly DeliveryWork[],
    step: AutomationMailStep | undefined,
    deadline: Deadline,
  ): Promise<readonly PreparedDelivery[]> {
    const now = this.clock.now();
    try {
      if (step === undefined) throw new Error('The automation run of this mail no longer exists.');
      const scope = works[0]!.scope;
      const mail = await deadline.waitFor(this.mails.of(scope, step));
      if (mail !== null)
        return await this.batches.prepare(
          works.map((work) => ({ work, mail })),
          now,
        );
      return works.map((work) => withoutMail(work, held(work.delivery, 'rendering', now, now)));
    } catch (error) {
      return works.map((work) => withoutMail(work, notComposed(work.delivery, error, now, Math.random)));
    }
  }
}

import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { RecipientsQuery } from '#audience';
import { Clock, type ProjectScope } from '#kernel';
import { Database, neverJoined } from '#platform';
import { addressed } from '../deliveries/campaign-mail.js';
import {
  type DeliveryOutcome,
  held,
  notComposed,
  outcomeOfInterruption,
  outcomeWithoutMail,
  skipped,
} from '../deliveries/delivery-outcome.js';
import type { DeliveryWork, PreparedDelivery, SinglesPreparation } from '../deliveries/delivery-source.js';
import { makeFewAtATime } from '../deliveries/few-at-a-time.js';
import type { MailDeparture } from '../deliveries/mail-departure.js';
import { type Ahead, MailRendering } from '../deliveries/mail-rendering.service.js';
import { MailSealing } from '../deliveries/mail-sealing.service.js';
import { Patience } from '../deliveries/patience.js';
import { AutomationMails, type AutomationMailStep, keyOf } from './automation-mails.service.js';

/** How long mails that are not compiled yet hold up the others. */
const PATIENCE_MS = 2_000;

/** What the mails of a step have in common. */
interface Batch {
  readonly ahead: Ahead;
  readonly recipients: Awaited<ReturnType<RecipientsQuery['lookUp']>>;
  readonly departure: MailDeparture;
  readonly now: Date;
}

/** Makes the mails of automations' steps, looking once more whether each person still wants it. */
@Injectable()
export class AutomationMailPreparation implements SinglesPreparation {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(AutomationMails) private readonly mails: AutomationMails,
    @Inject(RecipientsQuery) private readonly recipients: RecipientsQuery,
    @Inject(MailRendering) private readonly rendering: MailRendering,
    @Inject(MailSealing) private readonly sealing: MailSealing,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  async prepare(works: readonly DeliveryWork[]): Promise<PreparedDelivery[]> {
    const patience = new Patience(PATIENCE_MS);
    const prepared: PreparedDelivery[] = [];
    for (const ofScope of Map.groupBy(works, ({ scope }) => scope.environmentId).values()) {
      const steps = await this.#stepsOf(ofScope[0]!.scope, ofScope);
      const mailOf = ({ delivery: { sourceId, queuedOn } }: DeliveryWork) => {
        const step = steps.get(sourceId);
        return step === undefined ? undefined : { ...step, queuedOn };
      };
      const key = (work: DeliveryWork) => {
        const mail = mailOf(work);
        return mail === undefined ? '' : keyOf(mail);
      };
      for (const ofStep of Map.groupBy(ofScope, key).values())
        prepared.push(...(await this.#prepareStep(ofStep, mailOf(ofStep[0]!), patience)));
    }
    return prepared;
  }

  /** By the deliveries' source: which step of which version it is. */
  #stepsOf(
    scope: ProjectScope,
    works: readonly DeliveryWork[],
  ): Promise<ReadonlyMap<string, Omit<AutomationMailStep, 'queuedOn'>>> {
    const sources = works.map(({ delivery }) => delivery.sourceId);
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<Omit<AutomationMailStep, 'queuedOn'> & { sourceId: string }>`
        select s.id as "sourceId", r.version_id as "versionId", messaging.place_of_step(s.id) as place
        from unnest(${sources}::uuid[]) s(id)
        cross join lateral (
          select r.version_id from messaging.automation_runs r
          where r.id = messaging.run_of_step(s.id) and r.environment_id = ${scope.environmentId} ${neverJoined}
        ) r
      `.execute(db);
      return new Map(rows.map(({ sourceId, ...step }) => [sourceId, step]));
    });
  }

  async #prepareStep(
    works: readonly DeliveryWork[],
    step: AutomationMailStep | undefined,
    patience: Patience,
  ): Promise<readonly PreparedDelivery[]> {
    const now = this.clock.now();
    try {
      if (step === undefined) throw new Error('The run of the mail is gone.');
      const scope = works[0]!.scope;
      const mail = await patience.waitFor(this.mails.of(scope, step));
      if (mail === null) return works.map((work) => ({ ...work, outcome: notYet(work, now) }));
      const ids = works.flatMap(({ delivery }) => delivery.subscriberId ?? []);
      const recipients = await this.recipients.lookUp(scope, mail.campaign.topicIds, ids, now);
      const departure = await this.sealing.departureOf(scope, mail.sender.domain);
      const ahead = await this.rendering.ahead(mail, addressed(works, recipients));
      const batch = { recipients, departure, ahead, now };
      return await makeFewAtATime(works, (work) => this.#prepareOne(work, batch));
    } catch (error) {
      return works.map((work) => ({ ...work, outcome: failed(work, error, now) }));
    }
  }

  async #prepareOne(work: DeliveryWork, batch: Batch): Promise<PreparedDelivery> {
    const { delivery, ambiguousPolicy } = work;
    const recipient = batch.recipients.get(delivery.subscriberId ?? '');
    const outcome = outcomeWithoutMail(delivery, ambiguousPolicy, recipient);
    if (outcome !== null) return { ...work, outcome };
    if (recipient === undefined) return { ...work, outcome: skipped(delivery, 'erased') };
    const until = batch.ahead.heldUntil(delivery.id);
    if (until !== null) return { ...work, outcome: held(delivery, 'rendering', until, batch.now) };
    return this.sealing.sealComposed(work, { ...batch, recipient }, (one) => batch.ahead.compose(one));
  }
}

function notYet({ delivery, ambiguousPolicy }: DeliveryWork, now: Date): DeliveryOutcome {
  return outcomeOfInterruption(delivery, ambiguousPolicy) ?? held(delivery, 'rendering', now, now);
}

/** What is in doubt stays in doubt, whatever else is wrong: it may have arrived. */
function failed({ delivery, ambiguousPolicy }: DeliveryWork, fault: unknown, now: Date): DeliveryOutcome {
  const interrupted = outcomeOfInterruption(delivery, ambiguousPolicy);
  return interrupted ?? notComposed(delivery, fault, now, Math.random);
}

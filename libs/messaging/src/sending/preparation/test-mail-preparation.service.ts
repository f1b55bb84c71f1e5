import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { CustomFieldsQuery, SuppressionsService, templateDefaults } from '#audience';
import { Clock, parseEmailAddress, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { sampleRecipient } from '../mails/sample-recipient.js';
import { CampaignMailsService } from '../mails/campaign-mails.service.js';
import { MailRendering } from '../mails/mail-rendering.service.js';
import { held, notComposed, outcomeOfInterruption, skipped } from '../delivery-outcome.js';
import type { DeliveryWork, PreparedDelivery, SinglesPreparation } from '../delivery-source.js';
import { MailSigning } from '../mails/mail-signing.service.js';
import { Deadline } from './deadline.js';

/** Confirmations wait meanwhile, and whoever asked for a test mail waits for the next look. */
const LONGEST_WAIT_MS = 100;

/** Makes test mails: the campaign as it stands at that moment, with sample data. */
@Injectable()
export class TestMailPreparation implements SinglesPreparation {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(CampaignMailsService) private readonly mails: CampaignMailsService,
    @Inject(MailRendering) private readonly rendering: MailRendering,
    @Inject(SuppressionsService) private readonly suppressions: SuppressionsService,
    @Inject(CustomFieldsQuery) private readonly fields: CustomFieldsQuery,
    @Inject(MailSigning) private readonly signing: MailSigning,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  prepare(works: readonly DeliveryWork[]): Promise<PreparedDelivery[]> {
    const deadline = new Deadline(LONGEST_WAIT_MS);
    return Promise.all(
      works.map(async (work) => {
        const prepared = await deadline.waitFor(this.#prepare(work));
        if (prepared !== null) return prepared;
        const now = this.clock.now();
        return { ...work, outcome: held(work.delivery, 'rendering', now, now) };
      }),
    );
  }

  async #prepare(work: DeliveryWork): Promise<PreparedDelivery> {
    const { scope, delivery } = work;
    const interrupted = outcomeOfInterruption(delivery, work.ambiguousPolicy);
    if (interrupted !== null) return { ...work, outcome: interrupted };
    try {
      if (await this.#isSuppressed(work)) return { ...work, outcome: skipped(delivery, 'suppressed') };
      const campaignId = await this.#campaignOf(scope, delivery.sourceId);
      if (campaignId === null) return { ...work, outcome: skipped(delivery, 'campaign-deleted') };
      const mail = await this.mails.compile(scope, campaignId);
      const topicNames = mail.topics.map(({ name }) => name);
      const defaults = templateDefaults(await this.fields.definitions(scope));
      const recipient = sampleRecipient(delivery.address, topicNames, defaults);
      const { id: deliveryId, messageId } = delivery;
      // Its links lead to nobody.
      const one = { deliveryId, messageId, recipient, date: this.clock.now(), returnPathHost: null };
      const composed = { ...(await this.rendering.compose(mail, one)), kind: delivery.kind };
      return await this.signing.signOne(work, composed, mail.sender.domain);
    } catch (error) {
      const now = this.clock.now();
      return { ...work, outcome: notComposed(delivery, error, now, Math.random) };
    }
  }

  async #isSuppressed({ scope, delivery }: DeliveryWork): Promise<boolean> {
    const parsed = parseEmailAddress(delivery.address);
    return 'address' in parsed && (await this.suppressions.isSuppressed(scope, parsed.address.key));
  }

  /** Null when the campaign was deleted. */
  #campaignOf(scope: ProjectScope, testId: string): Promise<string | null> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<{ campaign_id: string }>`
        select t.campaign_id from messaging.campaign_tests t join messaging.campaigns c on c.id = t.campaign_id
        where t.id = ${testId} and t.environment_id = ${scope.environmentId} and c.deleted_at is null
      `.execute(db);
      return rows[0]?.campaign_id ?? null;
    });
  }
}

import { Injectable } from '@nestjs/common';
import { SuppressionsService } from '#audience';
import { parseEmailAddress, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { MessagingTables } from '../../messaging-tables.js';
import type { DeliveryWork } from '../delivery-source.js';
import { CampaignMailsService } from './campaign-mails.service.js';
import type { ComposedMail } from './composed-mail.js';
import { MailRendering } from './mail-rendering.service.js';
import { SampleRecipients } from './sample-recipients.service.js';

/** Makes test mails: the campaign as it stands at that moment, with sample data. */
@Injectable()
export class TestMailComposer {
  constructor(
    private readonly database: Database,
    private readonly suppressions: SuppressionsService,
    private readonly mails: CampaignMailsService,
    private readonly samples: SampleRecipients,
    private readonly rendering: MailRendering,
  ) {}

  async compose(work: DeliveryWork, now: Date): Promise<ComposedMail> {
    const { scope, delivery } = work;
    if (await this.#isSuppressed(work)) return { skipped: 'suppressed' };
    const campaignId = await this.#campaignOf(scope, delivery.sourceId);
    if (campaignId === null) return { skipped: 'campaign-deleted' };
    const compiled = await this.mails.compile(scope, campaignId, delivery.locale);
    const recipient = await this.samples.of(compiled, delivery.address);
    const { id: deliveryId, messageId, kind, locale } = delivery;
    // Its links lead to nobody.
    const one = { deliveryId, messageId, recipient, locale, date: now, returnPathHost: null };
    const mail = { ...(await this.rendering.compose(compiled, one)), kind };
    return { mail, senderDomain: compiled.sender.domain };
  }

  async #isSuppressed({ scope, delivery }: DeliveryWork): Promise<boolean> {
    const parsed = parseEmailAddress(delivery.address);
    return 'address' in parsed && (await this.suppressions.isSuppressed(scope, parsed.address.key));
  }

  /** Null when the campaign was deleted. */
  async #campaignOf(scope: ProjectScope, testId: string): Promise<string | null> {
    const test = await this.database.transaction(scope, () =>
      this.database
        .tables<MessagingTables>()
        .selectFrom('messaging.campaign_tests as t')
        .innerJoin('messaging.campaigns as c', (join) =>
          join.onRef('c.id', '=', 't.campaignId').onRef('c.environmentId', '=', 't.environmentId'),
        )
        .select('t.campaignId')
        .where('t.id', '=', testId)
        .where('t.environmentId', '=', scope.environmentId)
        .where('c.deletedAt', 'is', null)
        .executeTakeFirst(),
    );
    return test?.campaignId ?? null;
  }
}

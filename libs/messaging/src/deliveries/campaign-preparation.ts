import { Inject, Injectable } from '@nestjs/common';
import { RecipientsQuery } from '#audience';
import { Clock } from '#kernel';
import { describeError } from '#platform';
import { type CampaignMail, composeCampaignMail } from './campaign-mail.js';
import { CampaignMailsService } from './campaign-mails.service.js';
import { notComposed, outcomeOfInterruption, skipped } from './delivery-outcome.js';
import type { DeliveryWork, PreparedDelivery } from './delivery-source.js';
import { MailLinkMaker } from './mail-links.js';

type Recipients = Awaited<ReturnType<RecipientsQuery['lookUp']>>;

/** Makes mails of claimed campaign deliveries, looking once more whether each recipient still wants it. */
@Injectable()
export class CampaignPreparation {
  constructor(
    @Inject(CampaignMailsService) private readonly mails: CampaignMailsService,
    @Inject(RecipientsQuery) private readonly recipients: RecipientsQuery,
    @Inject(MailLinkMaker) private readonly links: MailLinkMaker,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  async prepare(works: readonly DeliveryWork[]): Promise<PreparedDelivery[]> {
    const campaigns = Map.groupBy(works, ({ delivery }) => delivery.sourceId);
    const prepared: PreparedDelivery[] = [];
    for (const ofOne of campaigns.values()) prepared.push(...(await this.#prepareCampaign(ofOne)));
    return prepared;
  }

  async #prepareCampaign(works: readonly DeliveryWork[]): Promise<PreparedDelivery[]> {
    const [first] = works;
    if (first === undefined) return [];
    const now = this.clock.now();
    // The moment at which they were written down stands for the content: a campaign that failed may be changed.
    const version = first.delivery.createdAt.toISOString();
    const mail = await this.mails.ofQueued(first.scope, first.delivery.sourceId, version);
    const ids = works.flatMap(({ delivery }) => delivery.subscriberId ?? []);
    const recipients = await this.recipients.lookUp(first.scope, mail.campaign.topicIds, ids, now);
    return works.map((work) => this.#prepareOne(work, mail, recipients, now));
  }

  #prepareOne(work: DeliveryWork, mail: CampaignMail, recipients: Recipients, now: Date): PreparedDelivery {
    const { delivery } = work;
    const recipient = recipients.get(delivery.subscriberId ?? '');
    const interrupted = outcomeOfInterruption(delivery, work.ambiguousPolicy);
    if (interrupted !== null) return { ...work, outcome: interrupted };
    if (recipient === undefined) return { ...work, outcome: skipped(delivery, 'erased') };
    if (recipient.obstacle !== null) return { ...work, outcome: skipped(delivery, recipient.obstacle) };
    try {
      const one = { deliveryId: delivery.id, messageId: delivery.messageId, recipient, date: now };
      return { ...work, mail: composeCampaignMail(mail, one, this.links) };
    } catch (error) {
      return { ...work, outcome: notComposed(delivery, describeError(error), now, Math.random) };
    }
  }
}

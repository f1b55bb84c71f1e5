import { Injectable } from '@nestjs/common';
import { type Recipient, RecipientsQuery, SubscribersQuery } from '#audience';
import { Clock, type EmailAddress, newId, NotFoundError, type ProjectScope } from '#kernel';
import type { CampaignMail } from '../mails/campaign-mail.js';
import { SampleRecipients } from '../mails/sample-recipients.service.js';

const SAMPLE_ADDRESS = 'ada@example.com';

/** Looks up whom a mail is shown for, whether it would reach them or not. */
@Injectable()
export class MailReaders {
  constructor(
    private readonly subscribers: SubscribersQuery,
    private readonly recipients: RecipientsQuery,
    private readonly samples: SampleRecipients,
    private readonly clock: Clock,
  ) {}

  /** Of mails of these topics; undefined when there is no such subscriber any more. */
  async find(
    scope: ProjectScope,
    topicIds: readonly string[],
    subscriberId: string,
  ): Promise<Recipient | undefined> {
    const found = await this.recipients.lookUp(scope, topicIds, [subscriberId], this.clock.now());
    return found.get(subscriberId);
  }

  /** Of a campaign's mail; somebody who does not exist without an address. `NotFoundError` without a subscriber of it. */
  async of(mail: CampaignMail, address: EmailAddress | null): Promise<Recipient> {
    if (address === null) return this.samples.of(mail, SAMPLE_ADDRESS);
    const { scope, campaign } = mail;
    const { id } = await this.subscribers.byAddress(scope, address);
    const reader = await this.find(scope, campaign.topicIds, id);
    if (reader === undefined) throw new NotFoundError();
    // Not the subscriber's own id: who may read campaigns must not get links into somebody's preferences.
    return { ...reader, subscriberId: newId() };
  }
}

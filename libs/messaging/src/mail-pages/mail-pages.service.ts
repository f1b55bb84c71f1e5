import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type NamedTopic, RecipientsQuery, TopicsQuery, UnsubscribesService } from '#audience';
import { Clock, type ProjectScope } from '#kernel';
import { Database, type Sql } from '#platform';
import { AutomationMails } from '../automations/automation-mails.service.js';
import { CampaignMailsService } from '../deliveries/campaign-mails.service.js';
import type { CampaignMail } from '../deliveries/campaign-mail.js';
import { MailRendering } from '../deliveries/mail-rendering.service.js';
import { DeliveryFeedback } from '../tracking/delivery-feedback.service.js';

/** A mail, as the page that its links lead to describes it. */
export interface DescribedMail {
  /** Null when the subscriber has been erased. */
  readonly subscriberId: string | null;
  readonly address: string | null;
  readonly topics: readonly NamedTopic[];
}

/** Who unsubscribes, and by which way. */
export interface Unsubscriber {
  readonly how: 'SUBSCRIBER_PAGE' | 'ONE_CLICK';
  /** Null when it is not known: by mail. */
  readonly ipAddress: string | null;
  readonly userAgent: string | null;
}

interface MailRow {
  readonly id: string;
  readonly queued_on: string;
  readonly subscriber_id: string | null;
  readonly address: string;
  readonly message_id: string;
  /** Null for a mail of an automation. */
  readonly campaign_id: string | null;
  readonly version_id: number | null;
  readonly place: number | null;
  readonly topic_ids: string[];
}

/** What was sent: the campaign, or the step of an automation. */
@Injectable()
export class MailsOfLinks {
  constructor(
    @Inject(CampaignMailsService) private readonly campaigns: CampaignMailsService,
    @Inject(AutomationMails) private readonly automations: AutomationMails,
  ) {}

  of(scope: ProjectScope, mail: MailRow): Promise<CampaignMail> {
    if (mail.campaign_id !== null) return this.campaigns.ofQueued(scope, mail.campaign_id, mail.queued_on);
    if (mail.version_id === null || mail.place === null) throw new Error('The mail belongs to nothing.');
    return this.automations.of(scope, {
      versionId: mail.version_id,
      place: mail.place,
      queuedOn: mail.queued_on,
    });
  }
}

/** What the links in the mails of campaigns and automations do. The delivery's id comes from a signed token. */
@Injectable()
export class MailPagesService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(TopicsQuery) private readonly topics: TopicsQuery,
    @Inject(RecipientsQuery) private readonly recipients: RecipientsQuery,
    @Inject(UnsubscribesService) private readonly unsubscribes: UnsubscribesService,
    @Inject(MailsOfLinks) private readonly mails: MailsOfLinks,
    @Inject(MailRendering) private readonly rendering: MailRendering,
    @Inject(DeliveryFeedback) private readonly feedback: DeliveryFeedback,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Null when there is no such mail. */
  describeMail(scope: ProjectScope, deliveryId: string): Promise<DescribedMail | null> {
    return this.database.transaction(scope, async ({ db }) => {
      const mail = await findMail(scope, db, deliveryId);
      if (mail === null) return null;
      const topics = await this.topics.named(scope, mail.topic_ids);
      return { subscriberId: mail.subscriber_id, address: mail.address, topics };
    });
  }

  /** Takes the reader off the mail's topics, or off everything. Again, or without such a mail: nothing happens. */
  async unsubscribe(
    scope: ProjectScope,
    deliveryId: string,
    reach: 'topics' | 'everything',
    { how, ipAddress, userAgent }: Unsubscriber,
  ): Promise<void> {
    await this.database.transaction(scope, async ({ db }) => {
      const mail = await findMail(scope, db, deliveryId, 'lock');
      if (mail === null || mail.subscriber_id === null) return;
      const by = { actor: how, ipAddress, userAgent, deliveryId, messageId: mail.message_id };
      if (reach === 'everything') await this.unsubscribes.everything(scope, mail.subscriber_id, by);
      else await this.unsubscribes.revokeTopics(scope, mail.subscriber_id, mail.topic_ids, by);
      await this.feedback.unsubscribed(scope, deliveryId);
    });
  }

  /** The mail's HTML as its reader got it; null when there is no such mail or its reader was erased. */
  async render(scope: ProjectScope, deliveryId: string): Promise<{ readonly html: string } | null> {
    const mail = await this.database.transaction(scope, ({ db }) => findMail(scope, db, deliveryId));
    if (mail === null || mail.subscriber_id === null) return null;
    const found = await this.recipients.lookUp(scope, mail.topic_ids, [mail.subscriber_id], this.clock.now());
    const recipient = found.get(mail.subscriber_id);
    if (recipient === undefined) return null;
    const compiled = await this.mails.of(scope, mail);
    return this.rendering.show(compiled, { deliveryId, recipient });
  }

  /** The Message-ID of the mail that asked for a confirmation: part of the consent's record. */
  confirmationMessageId(scope: ProjectScope, confirmationId: string): Promise<string | null> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<{ message_id: string }>`
        select message_id from messaging.deliveries
        where source_id = ${confirmationId} and environment_id = ${scope.environmentId} and kind = 'OPT_IN'
      `.execute(db);
      return rows[0]?.message_id ?? null;
    });
  }
}

async function findMail(
  scope: ProjectScope,
  db: Sql,
  deliveryId: string,
  lock?: 'lock',
): Promise<MailRow | null> {
  const { rows } = await sql<MailRow>`
    select d.id, d.queued_on, d.subscriber_id, d.address, d.message_id, c.id as campaign_id, v.id as version_id, p.place,
      coalesce(c.topic_ids, array_remove(array[v.mail_topic_ids[p.place + 1]], null)) as topic_ids
    from messaging.deliveries d
    left join messaging.campaigns c on d.kind = 'CAMPAIGN' and c.id = d.source_id
    left join lateral (
      select r.version_id from messaging.automation_runs r
      where d.kind = 'AUTOMATION' and r.id = messaging.run_of_step(d.source_id) offset 0
    ) r on true
    left join messaging.automation_versions v on v.id = r.version_id
    cross join lateral (select messaging.place_of_step(d.source_id) as place) p
    where d.id = ${deliveryId} and d.environment_id = ${scope.environmentId} and (c.id is not null or v.id is not null)
    ${lock === undefined ? sql`` : sql`for update of d`}
  `.execute(db);
  return rows[0] ?? null;
}

import { Inject, Injectable } from '@nestjs/common';
import { consentProof, type NamedTopic, PreferencesService, TopicsQuery } from '#audience';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { MessagingTables } from '../../messaging-tables.js';
import { DeliveryFeedback } from '../feedback/delivery-feedback.service.js';
import { findMailOfLink } from './mail-of-link.query.js';

/** A mail, as the page that its links lead to describes it. */
export interface DescribedMail {
  /** Null when the subscriber has been erased. */
  readonly subscriberId: string | null;
  readonly address: string | null;
  /** The reader's language when it was queued; null: not known. */
  readonly locale: string | null;
  readonly topics: readonly NamedTopic[];
}

/** The person who unsubscribes, and the way they do it. */
export interface Unsubscriber {
  readonly how: 'SUBSCRIBER_PAGE' | 'ONE_CLICK';
  /** Null when it is not known: by mail. */
  readonly ipAddress: string | null;
  readonly userAgent: string | null;
}

/** What the links in the mails of campaigns and automations do. The delivery's id comes from a signed token. */
@Injectable()
export class MailPagesService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(TopicsQuery) private readonly topics: TopicsQuery,
    @Inject(PreferencesService) private readonly preferences: PreferencesService,
    @Inject(DeliveryFeedback) private readonly feedback: DeliveryFeedback,
  ) {}

  /** Null when there is no such mail. */
  describeMail(scope: ProjectScope, deliveryId: string): Promise<DescribedMail | null> {
    return this.database.transaction(scope, async () => {
      const mail = await findMailOfLink(this.database, scope, deliveryId);
      if (mail === null) return null;
      const topics = await this.topics.named(scope, mail.topicIds);
      return { subscriberId: mail.subscriberId, address: mail.address, locale: mail.locale, topics };
    });
  }

  /** Takes the reader off the mail's topics, or off everything. Again, or without such a mail: nothing happens. */
  async unsubscribe(
    scope: ProjectScope,
    deliveryId: string,
    reach: 'topics' | 'everything',
    { how, ipAddress, userAgent }: Unsubscriber,
  ): Promise<void> {
    await this.database.transaction(scope, async () => {
      const mail = await findMailOfLink(this.database, scope, deliveryId, 'lock');
      if (mail === null || mail.subscriberId === null) return;
      const { subscriberId, topicIds, messageId } = mail;
      const by = consentProof(how, deliveryId, { ipAddress, userAgent, messageId });
      if (reach === 'everything') await this.preferences.leaveEverything(scope, subscriberId, by);
      else await this.preferences.leaveTopics(scope, subscriberId, topicIds, by);
      await this.feedback.unsubscribed(scope, deliveryId);
    });
  }

  /** The Message-ID of the mail that asked for a confirmation: part of the consent's record. */
  confirmationMessageId(scope: ProjectScope, confirmationId: string): Promise<string | null> {
    return this.database.transaction(scope, async () => {
      const mail = await this.database
        .tables<MessagingTables>()
        .selectFrom('messaging.deliveries')
        .select('messageId')
        .where('sourceId', '=', confirmationId)
        .where('environmentId', '=', scope.environmentId)
        .where('kind', '=', 'OPT_IN')
        .executeTakeFirst();
      return mail?.messageId ?? null;
    });
  }
}

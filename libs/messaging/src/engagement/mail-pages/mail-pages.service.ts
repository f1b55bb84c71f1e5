import { Inject, Injectable } from '@nestjs/common';
import { consentProof, type NamedTopic, PreferencesService, RecipientsQuery, TopicsQuery } from '#audience';
import type { ProjectScope } from '#kernel';
import { Database, type LinkedMail } from '#platform';
import type { MessagingTables } from '../../messaging-tables.js';
import { DeliveryFeedback } from '../feedback/delivery-feedback.service.js';
import { findMailOfLink, type MailOfLink, topicsAbout } from './mail-of-link.query.js';

/** The mail that a link belongs to. */
export interface LinkToMail {
  /** The delivery's. */
  readonly id: string;
  /** What else the token says. */
  readonly mail?: LinkedMail | null;
}

type MailToLeave = Pick<MailOfLink, 'subscriberId' | 'address' | 'locale' | 'topicIds'> & {
  readonly messageId?: string;
};

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
    @Inject(RecipientsQuery) private readonly recipients: RecipientsQuery,
  ) {}

  /** Null when there is no such mail. */
  describeMail(scope: ProjectScope, link: LinkToMail): Promise<DescribedMail | null> {
    return this.database.transaction(scope, async () => {
      const mail = await this.#mailOf(scope, link);
      if (mail === null) return null;
      const topics = await this.topics.named(scope, mail.topicIds);
      return { subscriberId: mail.subscriberId, address: mail.address, locale: mail.locale, topics };
    });
  }

  /** Takes the reader off the mail's topics, or off everything. Again, or without such a mail: nothing happens. */
  async unsubscribe(
    scope: ProjectScope,
    link: LinkToMail,
    reach: 'topics' | 'everything',
    { how, ipAddress, userAgent }: Unsubscriber,
  ): Promise<void> {
    await this.database.transaction(scope, async () => {
      const mail = await this.#mailOf(scope, link, 'lock');
      if (mail === null || mail.subscriberId === null) return;
      const { subscriberId, topicIds, messageId } = mail;
      const by = consentProof(how, link.id, { ipAddress, userAgent, messageId });
      if (reach === 'everything') await this.preferences.leaveEverything(scope, subscriberId, by);
      else await this.preferences.leaveTopics(scope, subscriberId, topicIds, by);
      await this.feedback.unsubscribed(scope, link.id);
    });
  }

  /** Of one that is no longer kept, what the token and its reader say. */
  async #mailOf(
    scope: ProjectScope,
    { id, mail: linked = null }: LinkToMail,
    lock?: 'lock',
  ): Promise<MailToLeave | null> {
    const kept = await findMailOfLink(this.database, scope, id, lock);
    if (kept !== null || linked === null) return kept;
    const { subscriberId, aboutId } = linked;
    // Whether they may be sent mail at that time is not asked.
    const people = await this.recipients.lookUp(scope, [], [subscriberId], new Date(0));
    const reader = people.get(subscriberId);
    if (reader === undefined) return null;
    const topicIds = await topicsAbout(this.database, scope, aboutId);
    return { subscriberId, address: reader.email, locale: reader.locale, topicIds };
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

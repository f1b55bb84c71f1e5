import { Injectable } from '@nestjs/common';
import {
  type ConsentDetails,
  consentProof,
  type NamedTopic,
  TopicsQuery,
  UnsubscribeService,
} from '#audience';
import type { ProjectScope } from '#kernel';
import { Database, named } from '#platform';
import type { MessagingTables } from '../messaging-tables.js';
import { DeliveryFeedbackService } from './delivery-feedback.service.js';
import { LinkedMailsService, type LinkToMail, type MailReader } from '../deliveries/linked-mails.service.js';

/** A mail, as the page that its links lead to describes it. */
export interface DescribedMail {
  readonly reader: MailReader;
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

/** Actions of the links in the mails of campaigns and automations. The delivery's id comes from a signed token. */
@Injectable()
export class MailPagesService {
  constructor(
    private readonly database: Database,
    private readonly topics: TopicsQuery,
    private readonly leaving: UnsubscribeService,
    private readonly feedback: DeliveryFeedbackService,
    private readonly mails: LinkedMailsService,
  ) {}

  /** Null when there is no such mail. */
  describeMail(scope: ProjectScope, link: LinkToMail): Promise<DescribedMail | null> {
    return this.database.transaction(scope, async () => {
      const mail = await this.mails.find(scope, link);
      if (mail === null) return null;
      const topics = await this.topics.named(scope, mail.topicIds);
      return { reader: mail.reader, locale: mail.locale, topics };
    });
  }

  /**
   * Unsubscribes the person who has the mail's address now from its topics, or from everything. Returns the id by which that can
   * be undone, or null when there was nothing left to do; `no-reader` without such a person.
   */
  unsubscribe(
    scope: ProjectScope,
    link: LinkToMail,
    reach: 'topics' | 'everything',
    { how, ...person }: Unsubscriber,
  ): Promise<{ readonly undoId: string | null } | 'no-reader'> {
    return this.database.transaction(scope, async () => {
      const mail = await this.mails.find(scope, link, 'lock');
      if (mail === null || typeof mail.reader === 'string') return 'no-reader';
      const { topicIds, messageId } = mail;
      const { subscriberId } = mail.reader;
      const by = consentProof(how, link.id, { ...person, messageId });
      const undoId =
        reach === 'everything'
          ? await this.leaving.leaveEverything(scope, subscriberId, by)
          : await this.leaving.leaveTopics(scope, subscriberId, topicIds, by);
      await this.feedback.unsubscribed(scope, link.id);
      return { undoId };
    });
  }

  /**
   * Undoes an unsubscription by this link. Returns the topics that the reader gets mail about again; null when there is
   * nothing to undo, or not any more.
   */
  undo(
    scope: ProjectScope,
    link: LinkToMail,
    unsubscriptionId: string,
    details: ConsentDetails,
  ): Promise<readonly NamedTopic[] | null> {
    return this.database.transaction(scope, async () => {
      const mail = await this.mails.find(scope, link, 'lock');
      if (mail === null || typeof mail.reader === 'string') return null;
      const by = consentProof('SUBSCRIBER_PAGE', link.id, { ...details, messageId: mail.messageId });
      const { subscriberId } = mail.reader;
      const topicIds = await this.leaving.undo(scope, subscriberId, unsubscriptionId, by);
      return topicIds === null ? null : this.topics.named(scope, topicIds);
    });
  }

  /** The Message-ID of the mail that asked for a confirmation: part of the consent's record. */
  confirmationMessageId(scope: ProjectScope, confirmationId: string): Promise<string | null> {
    return this.database.transaction(scope, async () => {
      const mail = await this.database
        .tables<MessagingTables>()
        .selectFrom('messaging.deliveries')
        .modifyFront(named('mail_of_confirmation'))
        .select('messageId')
        .where('sourceId', '=', confirmationId)
        .where('environmentId', '=', scope.environmentId)
        .where('kind', '=', 'OPT_IN')
        .executeTakeFirst();
      return mail?.messageId ?? null;
    });
  }
}

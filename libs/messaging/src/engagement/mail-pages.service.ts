import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import {
  type ConsentDetails,
  consentProof,
  type NamedTopic,
  type StoredConsent,
  TopicsQuery,
  UnsubscribeService,
} from '#audience';
import type { ProjectScope } from '#kernel';
import { Database, named, type Statements } from '#platform';
import { DeliveryFeedbackService } from './delivery-feedback.service.js';
import {
  LinkedMailsService,
  type LinkToMail,
  type MailAndReader,
  type MailReader,
} from '../deliveries/linked-mails.service.js';

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

/** Actions of the links in mails that their readers can leave. The delivery's id comes from a signed token. */
@Injectable()
export class MailPagesService {
  constructor(
    private readonly database: Database,
    private readonly topics: TopicsQuery,
    private readonly leaving: UnsubscribeService,
    private readonly feedback: DeliveryFeedbackService,
    private readonly mails: LinkedMailsService,
  ) {}

  /** The mail, null when there is no such mail, and what `beside` read in the same message. */
  describeMail<Row>(
    scope: ProjectScope,
    link: LinkToMail,
    beside?: RawBuilder<Row>,
  ): Promise<readonly [DescribedMail | null, readonly Row[]]> {
    return this.database.transaction(scope, async () => {
      const reading: Statements<Row[]> = beside === undefined ? [] : [beside];
      const [mail, read = []] = await this.mails.find(scope, link, reading);
      if (mail === null) return [null, read] as const;
      const { reader, locale } = mail;
      return [{ reader, locale, topics: await this.topicsOf(scope, mail) }, read] as const;
    });
  }

  topicsOf(
    scope: ProjectScope,
    { topicIds }: Pick<MailAndReader, 'topicIds'>,
  ): Promise<readonly NamedTopic[]> {
    return this.topics.named(scope, topicIds);
  }

  /**
   * Unsubscribes the person who has the mail's address now, if there is one, from its topics, or from everything. Returns the mail,
   * null when there is no such mail; the id by which it can be undone, or null when there was nothing left to do; and what `beside`
   * read in the first message.
   */
  unsubscribe<Row>(
    scope: ProjectScope,
    link: LinkToMail,
    reach: 'topics' | 'everything',
    { how, ...person }: Unsubscriber,
    beside?: RawBuilder<Row>,
  ): Promise<readonly [mail: MailAndReader | null, undoId: string | null, beside: readonly Row[]]> {
    return this.database.transaction(scope, async () => {
      const linkedId = link.mail?.subscriberId ?? null;
      const reading: Statements<[StoredConsent, ...Row[]]> = [
        this.leaving.reading(scope, linkedId),
        ...(beside === undefined ? [] : [beside]),
      ];
      const [mail, consents, read = []] = await this.mails.find(scope, link, reading, 'lock');
      if (mail === null || typeof mail.reader === 'string') return [mail, null, read] as const;
      const { topicIds, kept } = mail;
      const { subscriberId } = mail.reader;
      const by = consentProof(how, link.id, { ...person, messageId: kept?.messageId });
      // A message is in no statistics.
      const counted = kept === null || kept.kind === 'MESSAGE' ? null : kept;
      if (counted !== null) await this.feedback.tellUnsubscription(scope, counted);
      const noting = counted === null ? [] : [this.feedback.notingUnsubscription(scope, counted)];
      if (reach === 'topics') {
        // Another has the address now: the token's subscriber alone is locked.
        const stored = subscriberId === linkedId ? consents : undefined;
        const options = { stored, beside: noting };
        const undoId = await this.leaving.leaveTopics(scope, subscriberId, topicIds, by, options);
        return [mail, undoId, read] as const;
      }
      const undoId = await this.leaving.leaveEverything(scope, subscriberId, by);
      if (noting.length > 0) await this.database.together(...noting);
      return [mail, undoId, read] as const;
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
      const [mail] = await this.mails.find(scope, link, [], 'lock');
      if (mail === null || typeof mail.reader === 'string') return null;
      const messageId = mail.kept?.messageId;
      const by = consentProof('SUBSCRIBER_PAGE', link.id, { ...details, messageId });
      const { subscriberId } = mail.reader;
      const topicIds = await this.leaving.undo(scope, subscriberId, unsubscriptionId, by);
      return topicIds === null ? null : this.topics.named(scope, topicIds);
    });
  }

  /** Statement that reads the Message-ID of the mail that asked for a confirmation: part of the consent's record. */
  readingConfirmationMail(
    { environmentId }: ProjectScope,
    confirmationId: string,
  ): RawBuilder<{ readonly messageId: string }> {
    return sql<{ messageId: string }>`${named('mail_of_confirmation')}
      select d.message_id from messaging.deliveries d
      where d.source_id = ${confirmationId} and d.environment_id = ${environmentId} and d.kind = 'OPT_IN' limit 1`;
  }
}

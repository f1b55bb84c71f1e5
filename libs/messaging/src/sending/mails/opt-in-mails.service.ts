import { Injectable, Module } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { type RawBuilder, sql } from 'kysely';
import {
  type ConfirmationMail,
  confirmationRecipients,
  ConfirmationsService,
  OptInMails,
  topicNamesIn,
} from '#audience';
import { Clock, DomainValidationError, type ProjectScope } from '#kernel';
import { Database, done, Job, type JobResult, jobType, named } from '#platform';
import {
  FromAddressesService,
  FromAddressesModule,
  type MailOrigin,
} from '../../campaigns/from-addresses.service.js';
import { MailLinksService } from '../../content/mail/mail-links.service.js';
import { optInMail } from '../../content/mail/opt-in-mail.js';
import {
  contentIn,
  type TranslatedContent,
  translationFor,
} from '../../content/document/translated-content.js';
import { addressAlone, projectValues } from '../../content/merge/merge-values.js';
import { ContentProcessesService, footerOf } from '../../content/processes/content-processes.service.js';
import { systemHeaders } from '../../content/mail/header-field.js';
import { buildMimeMessage } from '../../content/mail/mime-message.js';
import { wakeSenders } from '../../deliveries/delivery-queue.query.js';
import type { OutgoingMail } from '../../deliveries/delivery.js';
import { TemplateContentsQuery } from '../../templates/template-contents.query.js';
import { translatedContent } from '../../templates/template-reviews.service.js';
import type { ComposedMail, DeliveryWork } from '../delivery-work.js';
import { wireAddress } from './campaign-mail.js';

/** Queues mails that programs of version 0.2.0 asked for: goes with `platform.outbox`. */
export const queueOptInMails = jobType<
  { readonly confirmationId: string } | { readonly confirmationIds: readonly string[] }
>('confirmations.queue_mails', 'mail');

/** Queues confirmation mails: only rows, as whoever signs up waits for them. */
@Injectable()
export class OptInMailQueue extends OptInMails {
  /** Domains of Message-IDs by environment: any of the project's will do for a while. */
  readonly #domains = new LRUCache<number, string>({ max: 1_000, ttl: 10_000 });

  constructor(
    private readonly database: Database,
    private readonly fromAddresses: FromAddressesService,
    private readonly templates: TemplateContentsQuery,
    private readonly clock: Clock,
  ) {
    super();
  }

  override async templateKey(scope: ProjectScope, keyOrAlias: string): Promise<string> {
    const found = await this.templates.of(scope, keyOrAlias);
    if (found?.kind === 'OPT_IN') return found.templateKey;
    const fault =
      found === null
        ? 'is no template that is published'
        : `is a template of kind ${found.kind}: topics need one of kind OPT_IN`;
    throw new DomainValidationError({ optInTemplateKey: fault });
  }

  override async queueing(
    scope: ProjectScope,
    confirmationIds: readonly string[],
    dueAt: Date,
  ): Promise<RawBuilder<unknown>> {
    const domain = await this.#messageIdDomain(scope);
    const now = this.clock.now();
    wakeSenders(this.database);
    return sql`${named('queue_opt_in_mails')}
      with mail as materialized (
        select r.*, platform.new_id() as id from (${confirmationRecipients(scope, confirmationIds)}) r
      )
      insert into messaging.deliveries (id, queued_on, environment_id, kind, source_id, subscriber_id, address,
        address_key, message_id, state, next_attempt_at, created_at)
      select mail.id, ${now.toISOString().slice(0, 10)}::date, ${scope.environmentId}::bigint, 'OPT_IN',
        mail.confirmation_id, mail.subscriber_id, mail.email, mail.email_key,
        '<' || mail.id || '@' || ${domain}::text || '>', 'PENDING', ${dueAt}::timestamptz, ${now}::timestamptz
      from mail
      returning id`;
  }

  async #messageIdDomain(scope: ProjectScope): Promise<string> {
    const known = this.#domains.get(scope.environmentId);
    if (known !== undefined) return known;
    const domain = await this.fromAddresses.messageIdDomain(scope);
    this.#domains.set(scope.environmentId, domain);
    return domain;
  }

  @Job(queueOptInMails)
  async queueRequested(
    scope: ProjectScope,
    asked: Parameters<typeof queueOptInMails>[0],
  ): Promise<JobResult> {
    const ids = 'confirmationId' in asked ? [asked.confirmationId] : asked.confirmationIds;
    return this.database.transaction(scope, async () => {
      const queueing = await this.queueing(scope, ids, this.clock.now());
      await queueing.execute(this.database.tables());
      return done;
    });
  }
}

/** Composes confirmation mails. */
@Injectable()
export class OptInMailsService {
  constructor(
    private readonly confirmations: ConfirmationsService,
    private readonly fromAddresses: FromAddressesService,
    private readonly links: MailLinksService,
    private readonly templates: TemplateContentsQuery,
    private readonly processes: ContentProcessesService,
  ) {}

  async compose({ scope, delivery }: DeliveryWork, now: Date): Promise<ComposedMail> {
    const confirmation = await this.confirmations.forMail(scope, delivery.sourceId);
    const from = await this.fromAddresses.of(scope);
    if (confirmation === null || from === null) return { skipped: 'nothing-to-confirm' };
    const { project, sender, linkBase } = from;
    const template = await this.#templateOf(scope, confirmation);
    const wording = await this.fromAddresses.wording(scope, confirmation.locale);
    const links = this.links.confirm(linkBase, scope, confirmation.confirmationId, confirmation.expiresAt);
    const written =
      template &&
      (await this.#fillIn(scope, template, { confirmation, origin: from, confirmUrl: links.confirm, now }));
    const { subject, html, text, language } = written ?? {
      language: wording.locale,
      ...optInMail({
        wording,
        senderName: project.senderName,
        postalAddress: project.postalAddress,
        logoUrl: project.logoUrl,
        color: project.color,
        topicNames: topicNamesIn(confirmation.topics, confirmation.locale ?? wording.locale),
        confirmUrl: links.confirm,
        expiresAt: confirmation.expiresAt,
        timeZone: confirmation.timeZone ?? project.timeZone,
        now,
        privacyUrl: project.privacyUrl,
        contactEmail: project.contactEmail,
      }),
    };
    const to = wireAddress(confirmation.email);
    const raw = buildMimeMessage({
      from: { name: sender.name, address: sender.address },
      replyTo: project.replyTo === null ? [] : [wireAddress(project.replyTo)],
      to,
      subject,
      messageId: delivery.messageId,
      date: now,
      html,
      text,
      language,
      headers: systemHeaders(),
    });
    const mail: OutgoingMail = {
      deliveryId: delivery.id,
      environmentId: scope.environmentId,
      environment: scope.environment,
      kind: 'OPT_IN',
      from: sender.address,
      to: confirmation.email,
      subject,
      links,
      envelopeFrom: sender.address,
      envelopeTo: to,
      raw,
    };
    return { mail, senderDomain: sender.domain };
  }

  /** Content in use of the template that all of its topics name; null where they differ, or name none. */
  async #templateOf(scope: ProjectScope, { topics }: ConfirmationMail): Promise<TranslatedContent | null> {
    const [key = null, ...others] = new Set(topics.map(({ optInTemplateKey }) => optInTemplateKey));
    if (key === null || others.length > 0) return null;
    const found = await this.templates.of(scope, key);
    return found && translatedContent(found.content);
  }

  async #fillIn(
    scope: ProjectScope,
    template: TranslatedContent,
    {
      confirmation: { email, locale, timeZone, topics },
      origin: { project },
      confirmUrl,
      now,
    }: {
      readonly confirmation: ConfirmationMail;
      readonly origin: MailOrigin;
      readonly confirmUrl: string;
      readonly now: Date;
    },
  ): Promise<Readonly<Record<'subject' | 'html' | 'text' | 'language', string>>> {
    const translation = translationFor(template, locale);
    const language = translation ?? project.defaultLocale;
    const footer = footerOf(project, await this.fromAddresses.wording(scope, language));
    const parts = await this.processes.compile(scope, {
      content: { ...contentIn(template, translation), language },
      footer: { ...footer, isEmpty: true },
      tracking: null,
    });
    const name = new Intl.ListFormat(language).format(topicNamesIn(topics, language));
    const { subject, html, text } = await this.processes.fillIn(scope, parts, {
      subscriber: addressAlone(email),
      custom: {},
      topic: { name, key: topics.map(({ topicKey }) => topicKey).join(', ') },
      campaign: { name: '', key: '' },
      project: projectValues(project),
      links: { unsubscribe: '', preferences: '', view: '', confirm: confirmUrl },
      reader: { locale: language, timeZone: timeZone ?? project.timeZone, now: now.toISOString() },
    });
    return { subject, html, text, language };
  }
}

/** For the programs in which people are asked to confirm: no part of the sending engine. */
@Module({
  imports: [FromAddressesModule],
  providers: [OptInMailQueue, TemplateContentsQuery],
  exports: [OptInMailQueue],
})
export class OptInMailsModule {}

import { Injectable, Module } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { type RawBuilder, sql } from 'kysely';
import { confirmationRecipients, ConfirmationsService, OptInMails, topicNamesIn } from '#audience';
import { Clock, type ProjectScope } from '#kernel';
import { Database, done, Job, type JobResult, jobType, named } from '#platform';
import { FromAddressesService, FromAddressesModule } from '../../campaigns/from-addresses.service.js';
import { MailLinksService } from '../../content/mail/mail-links.service.js';
import { optInMail } from '../../content/mail/opt-in-mail.js';
import { systemHeaders } from '../../content/mail/header-field.js';
import { buildMimeMessage } from '../../content/mail/mime-message.js';
import { wakeSenders } from '../../deliveries/delivery-queue.query.js';
import type { OutgoingMail } from '../../deliveries/delivery.js';
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
    private readonly clock: Clock,
  ) {
    super();
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
  ) {}

  async compose({ scope, delivery }: DeliveryWork, now: Date): Promise<ComposedMail> {
    const confirmation = await this.confirmations.forMail(scope, delivery.sourceId);
    const from = await this.fromAddresses.of(scope);
    if (confirmation === null || from === null) return { skipped: 'nothing-to-confirm' };
    const { project, sender, linkBase } = from;
    const wording = await this.fromAddresses.wording(scope, confirmation.locale);
    const links = this.links.confirm(linkBase, scope, confirmation.confirmationId, confirmation.expiresAt);
    const { subject, html, text } = optInMail({
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
    });
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
      language: wording.locale,
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
}

/** For the programs in which people are asked to confirm: no part of the sending engine. */
@Module({ imports: [FromAddressesModule], providers: [OptInMailQueue], exports: [OptInMailQueue] })
export class OptInMailsModule {}

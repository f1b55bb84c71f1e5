import { Injectable } from '@nestjs/common';
import { ConfirmationsService, topicNamesIn } from '#audience';
import { Clock, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { Senders } from '../../campaigns/senders.service.js';
import { MailLinksService } from '../../content/mail/mail-links.service.js';
import { optInMail } from '../../content/mail/opt-in-mail.js';
import { buildMimeMessage, systemHeaders } from '../../content/mail/mime-message.js';
import { newDelivery, wakeSenders } from '../../deliveries/delivery-queue.query.js';
import type { OutgoingMail } from '../../deliveries/delivery.js';
import type { MessagingTables } from '../../messaging-tables.js';
import type { ComposedMail, DeliveryWork } from '../delivery-work.js';
import { wireAddress } from './campaign-mail.js';

/** Queues and composes confirmation mails. */
@Injectable()
export class OptInMailsService {
  constructor(
    private readonly database: Database,
    private readonly confirmations: ConfirmationsService,
    private readonly senders: Senders,
    private readonly links: MailLinksService,
    private readonly clock: Clock,
  ) {}

  /** Queues one delivery for the confirmation; none when there is nothing to confirm any more. */
  async queue(scope: ProjectScope, confirmationId: string): Promise<void> {
    await this.database.transaction(scope, async () => {
      const confirmation = await this.confirmations.forMail(scope, confirmationId);
      const from = await this.senders.of(scope);
      if (confirmation === null || from === null) return;
      const { subscriberId, email, emailKey } = confirmation;
      const delivery = newDelivery(scope, {
        kind: 'OPT_IN',
        sourceId: confirmationId,
        subscriberId,
        address: { value: email, key: emailKey },
        domain: from.sender.messageIdDomain,
        now: this.clock.now(),
      });
      await this.database
        .tables<MessagingTables>()
        .insertInto('messaging.deliveries')
        .values(delivery)
        .onConflict((conflict) => conflict.doNothing())
        .execute();
      wakeSenders(this.database);
    });
  }

  async compose({ scope, delivery }: DeliveryWork, now: Date): Promise<ComposedMail> {
    const confirmation = await this.confirmations.forMail(scope, delivery.sourceId);
    const from = await this.senders.of(scope);
    if (confirmation === null || from === null) return { skipped: 'nothing-to-confirm' };
    const { project, sender, linkBase } = from;
    const wording = await this.senders.wording(scope, confirmation.locale);
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
      replyTo: project.replyTo === null ? null : wireAddress(project.replyTo),
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

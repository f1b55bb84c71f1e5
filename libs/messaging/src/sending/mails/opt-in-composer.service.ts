import { Injectable } from '@nestjs/common';
import { ConfirmationsService, topicNamesIn } from '#audience';
import { Senders } from '../../campaigns/senders.service.js';
import { buildMimeMessage, systemHeaders } from '../../content/mail/mime-message.js';
import { optInMail } from '../../content/mail/opt-in-mail.js';
import { wireAddress } from './campaign-mail.js';
import type { OutgoingMail } from '../../deliveries/delivery.js';
import type { DeliveryWork } from '../delivery-source.js';
import type { ComposedMail } from './composed-mail.js';
import { MailLinksService } from '../../content/mail/mail-links.service.js';

/** Writes confirmation mails. */
@Injectable()
export class OptInComposer {
  constructor(
    private readonly confirmations: ConfirmationsService,
    private readonly senders: Senders,
    private readonly links: MailLinksService,
  ) {}

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

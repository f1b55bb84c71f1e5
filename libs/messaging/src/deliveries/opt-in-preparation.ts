import { Inject, Injectable } from '@nestjs/common';
import { ProjectsQuery } from '#access';
import { ConfirmationsQuery } from '#audience';
import { Clock } from '#kernel';
import { type Config, CONFIG, describeError } from '#platform';
import { senderIdentity } from '../campaigns/sender-identity.js';
import { systemHeaders } from '../content/list-headers.js';
import { buildMimeMessage } from '../content/mime-message.js';
import { optInMail } from '../content/opt-in-mail.js';
import { wireAddress } from './campaign-mail.js';
import type { OutgoingMail } from './delivery.js';
import { notComposed, outcomeOfInterruption, postponed, skipped } from './delivery-outcome.js';
import type { DeliveryWork, PreparedDelivery, SinglesPreparation } from './delivery-source.js';
import { MailLinkMaker } from './mail-links.js';

const HOUR_MS = 3_600_000;
const DOMAIN_LOOK_AGAIN_MS = 15 * 60_000;

/** Makes confirmation mails of claimed deliveries. */
@Injectable()
export class OptInPreparation implements SinglesPreparation {
  constructor(
    @Inject(ConfirmationsQuery) private readonly confirmations: ConfirmationsQuery,
    @Inject(ProjectsQuery) private readonly projects: ProjectsQuery,
    @Inject(MailLinkMaker) private readonly links: MailLinkMaker,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  prepare(works: readonly DeliveryWork[]): Promise<PreparedDelivery[]> {
    return Promise.all(works.map((work) => this.#prepare(work)));
  }

  async #prepare(work: DeliveryWork): Promise<PreparedDelivery> {
    const { delivery } = work;
    const now = this.clock.now();
    const interrupted = outcomeOfInterruption(delivery, work.ambiguousPolicy);
    if (interrupted !== null) return { ...work, outcome: interrupted };
    try {
      const mail = await this.#compose(work, now);
      if (mail === null) return { ...work, outcome: skipped(delivery, 'nothing-to-confirm') };
      // Live mail goes out only from a verified domain, and none can be verified yet.
      if (work.scope.environment === 'LIVE' && this.config.REQUIRE_VERIFIED_DOMAIN) {
        const until = new Date(now.getTime() + DOMAIN_LOOK_AGAIN_MS);
        return { ...work, outcome: postponed(delivery, 'sender-domain-not-verified', until) };
      }
      return { ...work, mail };
    } catch (error) {
      return { ...work, outcome: notComposed(delivery, describeError(error), now, Math.random) };
    }
  }

  /** Null when nothing waits to be confirmed any more. */
  async #compose({ scope, delivery }: DeliveryWork, now: Date): Promise<OutgoingMail | null> {
    const confirmation = await this.confirmations.forMail(scope, delivery.sourceId);
    const project = await this.projects.ofScope(scope);
    if (confirmation === null || project === null) return null;
    const links = this.links.confirm(scope, confirmation.confirmationId, confirmation.expiresAt);
    const sender = senderIdentity(
      project.senderName,
      project.defaultFromEmail,
      this.config.DEFAULT_FROM_EMAIL,
    );
    const { subject, html, text } = optInMail({
      projectName: project.name,
      senderName: project.senderName,
      postalAddress: project.postalAddress,
      topicNames: confirmation.topicNames,
      confirmUrl: links.confirm,
      expiresInHours: Math.max(1, Math.round((confirmation.expiresAt.getTime() - now.getTime()) / HOUR_MS)),
    });
    const to = wireAddress(confirmation.email);
    const raw = buildMimeMessage({
      from: { name: sender.name, address: sender.address },
      to,
      subject,
      messageId: delivery.messageId,
      date: now,
      html,
      text,
      headers: systemHeaders(),
    });
    return {
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
  }
}

import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '#kernel';
import { notComposed, outcomeOfInterruption, skipped } from '../delivery-outcome.js';
import type { DeliveryWork, PreparedDelivery, SinglesPreparation } from '../delivery-source.js';
import { MailSigning } from '../mails/mail-signing.service.js';
import { OptInComposer } from '../mails/opt-in-composer.service.js';

/** Makes confirmation mails of claimed deliveries. */
@Injectable()
export class OptInPreparation implements SinglesPreparation {
  constructor(
    @Inject(OptInComposer) private readonly composer: OptInComposer,
    @Inject(MailSigning) private readonly signing: MailSigning,
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
      const composed = await this.composer.compose(work, now);
      if (composed === null) return { ...work, outcome: skipped(delivery, 'nothing-to-confirm') };
      return await this.signing.signOne(work, composed.mail, composed.senderDomain);
    } catch (error) {
      return { ...work, outcome: notComposed(delivery, error, now, Math.random) };
    }
  }
}

import { Injectable } from '@nestjs/common';
import { Clock } from '#kernel';
import { held, notComposed, outcomeOfInterruption, skipped } from '../delivery-outcome.js';
import type { DeliveryWork, PreparedDelivery } from '../delivery-source.js';
import { MailSigning } from '../mails/mail-signing.service.js';
import { OptInComposer } from '../mails/opt-in-composer.service.js';
import { TestMailComposer } from '../mails/test-mail-composer.service.js';
import { Deadline } from './deadline.js';

/** Confirmations wait for the test mails of their batch: one that takes longer is made with the next batch. */
const LONGEST_WAIT_MS = 100;

/** Makes confirmations and test mails, each for itself. */
@Injectable()
export class SingleMailPreparation {
  constructor(
    private readonly optIns: OptInComposer,
    private readonly testMails: TestMailComposer,
    private readonly signing: MailSigning,
    private readonly clock: Clock,
  ) {}

  prepare(works: readonly DeliveryWork[]): Promise<PreparedDelivery[]> {
    const deadline = new Deadline(LONGEST_WAIT_MS);
    return Promise.all(
      works.map(async (work) => {
        if (work.delivery.kind === 'OPT_IN') return this.#prepare(work, this.optIns);
        const prepared = await deadline.waitFor(this.#prepare(work, this.testMails));
        const now = this.clock.now();
        return prepared ?? { ...work, outcome: held(work.delivery, 'rendering', now, now) };
      }),
    );
  }

  async #prepare(
    work: DeliveryWork,
    composer: Pick<OptInComposer, 'compose'> | Pick<TestMailComposer, 'compose'>,
  ): Promise<PreparedDelivery> {
    const { delivery, ambiguousPolicy } = work;
    const interrupted = outcomeOfInterruption(delivery, ambiguousPolicy);
    if (interrupted !== null) return { ...work, outcome: interrupted };
    const now = this.clock.now();
    try {
      const composed = await composer.compose(work, now);
      if ('skipped' in composed) return { ...work, outcome: skipped(delivery, composed.skipped) };
      return await this.signing.signOne(work, composed.mail, composed.senderDomain);
    } catch (error) {
      return { ...work, outcome: notComposed(delivery, error, this.clock.now(), Math.random) };
    }
  }
}

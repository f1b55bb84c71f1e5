import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '#kernel';
import { CampaignFailureService } from '../../campaigns/lifecycle/campaign-failure.service.js';
import { held, isContentFault, notComposed } from '../delivery-outcome.js';
import type { Admission, DeliveryWork, PreparedDelivery } from '../delivery-source.js';
import type { CampaignMail } from '../mails/campaign-mail.js';
import { CampaignMailsService } from '../mails/campaign-mails.service.js';
import type { SendingPolicy } from '../mails/sending-policy.js';
import { DeliveryPacing } from '../pacing/delivery-pacing.service.js';
import { Deadline } from './deadline.js';
import { MailBatches, withoutMail } from './mail-batches.service.js';

/** How long a campaign that is not compiled yet holds up the others. */
const LONGEST_WAIT_MS = 2_000;

/** Makes mails of claimed campaign deliveries. */
@Injectable()
export class CampaignPreparation {
  constructor(
    @Inject(CampaignMailsService) private readonly mails: CampaignMailsService,
    @Inject(MailBatches) private readonly batches: MailBatches,
    @Inject(CampaignFailureService) private readonly failure: CampaignFailureService,
    @Inject(DeliveryPacing) private readonly pacing: DeliveryPacing,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  async prepare(works: readonly DeliveryWork[]): Promise<PreparedDelivery[]> {
    const deadline = new Deadline(LONGEST_WAIT_MS);
    const campaigns = Map.groupBy(works, ({ delivery }) => delivery.sourceId);
    const prepared: PreparedDelivery[] = [];
    for (const ofOne of campaigns.values()) prepared.push(...(await this.#prepareCampaign(ofOne, deadline)));
    return prepared;
  }

  async #prepareCampaign(works: readonly DeliveryWork[], deadline: Deadline): Promise<PreparedDelivery[]> {
    const [first] = works;
    if (first === undefined) return [];
    const now = this.clock.now();
    // The moment at which they were queued stands for the content: a campaign that failed may be changed.
    const version = first.delivery.createdAt.toISOString();
    try {
      const compiling = this.mails.ofQueued(first.scope, first.delivery.sourceId, version);
      const mail = await deadline.waitFor(compiling);
      if (mail !== null) {
        return await this.batches.prepare(works, mail, now, (undecided, policy) =>
          this.#admit(undecided, mail, policy, now),
        );
      }
      return works.map((work) => withoutMail(work, held(work.delivery, 'rendering', now, now)));
    } catch (error) {
      if (!isContentFault(error)) throw error;
      return works.map((work) => withoutMail(work, notComposed(work.delivery, error, now, Math.random)));
    }
  }

  async #admit(
    works: readonly DeliveryWork[],
    { scope, campaign }: CampaignMail,
    policy: SendingPolicy,
    now: Date,
  ): Promise<Admission> {
    // Each of its mails would fail the same way.
    if (policy.kind === 'broken') await this.failure.fail(scope, campaign.id, policy.fault);
    if (policy.kind !== 'open') return { going: works, held: [] };
    return this.pacing.admitCampaign(works, campaign.id, policy.warmUp, now);
  }
}

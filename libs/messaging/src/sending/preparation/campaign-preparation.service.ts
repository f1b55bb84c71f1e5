import { Injectable } from '@nestjs/common';
import { Clock } from '#kernel';
import { CampaignLifecycleService } from '../../campaigns/campaign-lifecycle.service.js';
import { held, isContentFault, notComposed } from '../delivery-outcome.js';
import type { Admission, DeliveryWork, PreparedDelivery } from '../delivery-source.js';
import type { CampaignMail } from '../mails/campaign-mail.js';
import { CampaignMailsService } from '../mails/campaign-mails.service.js';
import type { SendingPolicy } from '../mails/sending-policy.js';
import { DeliveryPacing } from '../pacing/delivery-pacing.service.js';
import { Deadline } from './deadline.js';
import { type Admit, MailBatches, withoutMail } from './mail-batches.service.js';

/** How long a campaign that is not compiled yet holds up the others. */
const LONGEST_WAIT_MS = 2_000;

/** Makes mails of claimed campaign deliveries. */
@Injectable()
export class CampaignPreparation {
  constructor(
    private readonly mails: CampaignMailsService,
    private readonly batches: MailBatches,
    private readonly failure: CampaignLifecycleService,
    private readonly pacing: DeliveryPacing,
    private readonly clock: Clock,
  ) {}

  async prepare(works: readonly DeliveryWork[]): Promise<PreparedDelivery[]> {
    const deadline = new Deadline(LONGEST_WAIT_MS);
    const campaigns = Map.groupBy(works, ({ delivery }) => delivery.sourceId);
    const prepared: PreparedDelivery[] = [];
    for (const ofOne of campaigns.values()) prepared.push(...(await this.#prepareCampaign(ofOne, deadline)));
    return prepared;
  }

  async #prepareCampaign(works: readonly DeliveryWork[], deadline: Deadline): Promise<PreparedDelivery[]> {
    const now = this.clock.now();
    const mails = new Map<string | null, CampaignMail>();
    const prepared: PreparedDelivery[] = [];
    for (const [locale, alike] of Map.groupBy(works, ({ delivery }) => delivery.locale)) {
      const mail = await this.#compiled(alike, deadline, now);
      if ('template' in mail) mails.set(locale, mail);
      else prepared.push(...mail);
    }
    const composable = works.flatMap((work) => {
      const mail = mails.get(work.delivery.locale);
      return mail === undefined ? [] : [{ work, mail }];
    });
    const [first] = composable;
    if (first === undefined) return prepared;
    const admit: Admit = (undecided, policy) => this.#admit(undecided, first.mail, policy, now);
    return [...prepared, ...(await this.batches.prepare(composable, now, admit))];
  }

  /** The mail of deliveries to readers of one language, or what becomes of them without one. */
  async #compiled(
    works: readonly DeliveryWork[],
    deadline: Deadline,
    now: Date,
  ): Promise<CampaignMail | PreparedDelivery[]> {
    const { scope, delivery } = works[0]!;
    // The moment at which they were queued stands for the content: a campaign that failed may be changed.
    const queued = { scope, campaignId: delivery.sourceId, version: delivery.createdAt.toISOString() };
    try {
      const mail = await deadline.waitFor(this.mails.ofQueued(queued, delivery.locale));
      return mail ?? works.map((work) => withoutMail(work, held(work.delivery, 'rendering', now, now)));
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

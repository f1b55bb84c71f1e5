import { Inject, Injectable } from '@nestjs/common';
import { RecipientsQuery } from '#audience';
import { Clock } from '#kernel';
import { CampaignComposer } from './campaign-composer.service.js';
import { CampaignDepartures } from './campaign-departures.service.js';
import type { CampaignMail } from './campaign-mail.js';
import { DestinationPace } from './destination-pace.service.js';
import { outcomeWithoutMail, skipped } from './delivery-outcome.js';
import type { Admission, DeliveryWork, PreparedDelivery } from './delivery-source.js';
import { makeFewAtATime } from './few-at-a-time.js';
import type { MailDeparture } from './mail-departure.js';
import { MailSealing } from './mail-sealing.service.js';
import { WarmUpPace } from './warm-up-pace.service.js';

type Recipients = Awaited<ReturnType<RecipientsQuery['lookUp']>>;

/** What the mails of a batch have in common. */
interface Batch {
  readonly mail: CampaignMail;
  readonly departure: MailDeparture;
  readonly recipients: Recipients;
  readonly now: Date;
}

/** Makes mails of claimed campaign deliveries, looking once more whether each recipient still wants it. */
@Injectable()
export class CampaignPreparation {
  constructor(
    @Inject(CampaignComposer) private readonly composer: CampaignComposer,
    @Inject(RecipientsQuery) private readonly recipients: RecipientsQuery,
    @Inject(CampaignDepartures) private readonly departures: CampaignDepartures,
    @Inject(MailSealing) private readonly sealing: MailSealing,
    @Inject(WarmUpPace) private readonly warmUp: WarmUpPace,
    @Inject(DestinationPace) private readonly pace: DestinationPace,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  async prepare(works: readonly DeliveryWork[]): Promise<PreparedDelivery[]> {
    const campaigns = Map.groupBy(works, ({ delivery }) => delivery.sourceId);
    const prepared: PreparedDelivery[] = [];
    for (const ofOne of campaigns.values()) prepared.push(...(await this.#prepareCampaign(ofOne)));
    return prepared;
  }

  async #prepareCampaign(works: readonly DeliveryWork[]): Promise<PreparedDelivery[]> {
    const [first] = works;
    if (first === undefined) return [];
    const now = this.clock.now();
    // The moment at which they were written down stands for the content: a campaign that failed may be changed.
    const version = first.delivery.createdAt.toISOString();
    const mail = await this.composer.ofQueued(first.scope, first.delivery.sourceId, version);
    const departure = await this.departures.of(mail);
    const ids = works.flatMap(({ delivery }) => delivery.subscriberId ?? []);
    const recipients = await this.recipients.lookUp(first.scope, mail.campaign.topicIds, ids, now);
    const batch = { mail, departure, recipients, now };
    const decided = works.flatMap((work) => this.#decided(work, batch) ?? []);
    const known = new Set(decided.map(({ delivery }) => delivery.id));
    const { going, held } = await this.#admit(
      works.filter(({ delivery }) => !known.has(delivery.id)),
      batch,
    );
    const composed = await makeFewAtATime(going, (work) => this.#compose(work, batch));
    return [...decided, ...held, ...composed];
  }

  /** Who has a place on the day of the domain's warm-up, and a turn with the destination. */
  async #admit(works: readonly DeliveryWork[], { mail, departure, now }: Batch): Promise<Admission> {
    if (departure.kind !== 'open') return { going: works, held: [] };
    const today = await this.warmUp.admit(works, departure.warmUp, now);
    const turn = await this.pace.admit(today.going, mail.campaign.id, now);
    return { going: turn.going, held: [...today.held, ...turn.held] };
  }

  /** Null where it is to be sent. */
  #decided(work: DeliveryWork, { recipients }: Batch): PreparedDelivery | null {
    const { delivery, ambiguousPolicy } = work;
    const recipient = recipients.get(delivery.subscriberId ?? '');
    const outcome = outcomeWithoutMail(delivery, ambiguousPolicy, recipient);
    return outcome === null ? null : { ...work, outcome };
  }

  async #compose(work: DeliveryWork, batch: Batch): Promise<PreparedDelivery> {
    const { delivery } = work;
    const recipient = batch.recipients.get(delivery.subscriberId ?? '');
    if (recipient === undefined) return { ...work, outcome: skipped(delivery, 'erased') };
    return this.sealing.sealComposed(work, { ...batch, recipient }, (one) =>
      this.composer.compose(batch.mail, one),
    );
  }
}

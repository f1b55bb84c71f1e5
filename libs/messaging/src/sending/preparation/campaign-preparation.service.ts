import { Inject, Injectable } from '@nestjs/common';
import { RecipientsQuery } from '#audience';
import { Clock } from '#kernel';
import { CampaignComposer } from '../mails/campaign-composer.service.js';
import { CampaignDepartures } from '../mails/campaign-departures.service.js';
import { addressed, type CampaignMail } from '../mails/campaign-mail.js';
import { DestinationPace } from '../pacing/destination-pace.service.js';
import {
  type DeliveryOutcome,
  held,
  notComposed,
  outcomeOfInterruption,
  outcomeWithoutMail,
  skipped,
} from '../delivery-outcome.js';
import type { Admission, DeliveryWork, PreparedDelivery } from '../delivery-source.js';
import { makeFewAtATime } from './few-at-a-time.js';
import type { MailDeparture } from '../mails/sending-policy.js';
import { type Ahead, isContentFault } from '../mails/mail-rendering.service.js';
import { MailSealing } from '../mails/mail-signing.service.js';
import { Patience } from './deadline.js';
import { WarmUpPace } from '../pacing/warm-up-pace.service.js';

type Recipients = Awaited<ReturnType<RecipientsQuery['lookUp']>>;

/** How long a campaign that is not compiled yet holds up the others. */
const PATIENCE_MS = 2_000;

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
    const patience = new Patience(PATIENCE_MS);
    const campaigns = Map.groupBy(works, ({ delivery }) => delivery.sourceId);
    const prepared: PreparedDelivery[] = [];
    for (const ofOne of campaigns.values()) prepared.push(...(await this.#prepareCampaign(ofOne, patience)));
    return prepared;
  }

  async #prepareCampaign(works: readonly DeliveryWork[], patience: Patience): Promise<PreparedDelivery[]> {
    const [first] = works;
    if (first === undefined) return [];
    const now = this.clock.now();
    // The moment at which they were written down stands for the content: a campaign that failed may be changed.
    const version = first.delivery.createdAt.toISOString();
    try {
      const compiling = this.composer.ofQueued(first.scope, first.delivery.sourceId, version);
      const mail = await patience.waitFor(compiling);
      if (mail !== null) return await this.#prepareCompiled(works, mail, now);
      return works.map((work) => withoutMail(work, held(work.delivery, 'rendering', now, now)));
    } catch (error) {
      if (!isContentFault(error)) throw error;
      return works.map((work) => withoutMail(work, notComposed(work.delivery, error, now, Math.random)));
    }
  }

  async #prepareCompiled(
    works: readonly DeliveryWork[],
    mail: CampaignMail,
    now: Date,
  ): Promise<PreparedDelivery[]> {
    const scope = mail.scope;
    const departure = await this.departures.of(mail);
    const ids = works.flatMap(({ delivery }) => delivery.subscriberId ?? []);
    const recipients = await this.recipients.lookUp(scope, mail.campaign.topicIds, ids, now);
    const batch = { mail, departure, recipients, now };
    const decided = works.flatMap((work) => this.#decided(work, batch) ?? []);
    const known = new Set(decided.map(({ delivery }) => delivery.id));
    const { going, held: waiting } = await this.#admit(
      works.filter(({ delivery }) => !known.has(delivery.id)),
      batch,
    );
    const ahead = await this.composer.ahead(mail, addressed(going, recipients));
    const composed = await makeFewAtATime(going, (work) => this.#compose(work, batch, ahead));
    return [...decided, ...waiting, ...composed];
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

  async #compose(work: DeliveryWork, batch: Batch, ahead: Ahead): Promise<PreparedDelivery> {
    const { delivery } = work;
    const recipient = batch.recipients.get(delivery.subscriberId ?? '');
    if (recipient === undefined) return { ...work, outcome: skipped(delivery, 'erased') };
    const until = ahead.heldUntil(delivery.id);
    if (until !== null) return { ...work, outcome: held(delivery, 'rendering', until, batch.now) };
    return this.sealing.sealComposed(work, { ...batch, recipient }, (one) => ahead.compose(one));
  }
}

/** What is in doubt stays in doubt, whatever else is to be said of it: it may have arrived. */
function withoutMail(work: DeliveryWork, outcome: DeliveryOutcome): PreparedDelivery {
  return { ...work, outcome: outcomeOfInterruption(work.delivery, work.ambiguousPolicy) ?? outcome };
}

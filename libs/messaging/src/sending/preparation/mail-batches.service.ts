import { Inject, Injectable } from '@nestjs/common';
import { RecipientsQuery } from '#audience';
import { outcomeWithoutMail, held, skipped } from '../delivery-outcome.js';
import type { Admission, DeliveryWork, PreparedDelivery } from '../delivery-source.js';
import { addressed, type CampaignMail } from '../mails/campaign-mail.js';
import { type Ahead, MailRendering } from '../mails/mail-rendering.service.js';
import { MailSigning } from '../mails/mail-signing.service.js';
import { SendingPolicies } from '../mails/sending-policies.service.js';
import type { SendingPolicy } from '../mails/sending-policy.js';
import { makeFewAtATime } from './few-at-a-time.js';

type Recipients = Awaited<ReturnType<RecipientsQuery['lookUp']>>;
type Admit = (works: readonly DeliveryWork[], policy: SendingPolicy) => Promise<Admission>;

interface MadeOf {
  readonly policy: SendingPolicy;
  readonly recipients: Recipients;
  readonly ahead: Ahead;
  readonly now: Date;
}

const admitAll: Admit = (going) => Promise.resolve({ going, held: [] });

/** Makes mails that have their content in common, looking once more whether each recipient still wants it. */
@Injectable()
export class MailBatches {
  constructor(
    @Inject(RecipientsQuery) private readonly recipients: RecipientsQuery,
    @Inject(SendingPolicies) private readonly policies: SendingPolicies,
    @Inject(MailRendering) private readonly rendering: MailRendering,
    @Inject(MailSigning) private readonly signing: MailSigning,
  ) {}

  /** `admit` is asked for those that are to be sent. */
  async prepare(
    works: readonly DeliveryWork[],
    mail: CampaignMail,
    now: Date,
    admit = admitAll,
  ): Promise<PreparedDelivery[]> {
    const policy = await this.policies.of(mail.scope, mail.sender.domain);
    const ids = works.flatMap(({ delivery }) => delivery.subscriberId ?? []);
    const recipients = await this.recipients.lookUp(mail.scope, mail.campaign.topicIds, ids, now);
    const decided = works.flatMap((work) => decidedWithoutMail(work, recipients) ?? []);
    const known = new Set(decided.map(({ delivery }) => delivery.id));
    const undecided = works.filter(({ delivery }) => !known.has(delivery.id));
    const { going, held: waiting } = await admit(undecided, policy);
    const ahead = await this.rendering.ahead(mail, addressed(going, recipients));
    const made = await makeFewAtATime(going, (work) => this.#make(work, { policy, recipients, ahead, now }));
    return [...decided, ...waiting, ...made];
  }

  async #make(work: DeliveryWork, { policy, recipients, ahead, now }: MadeOf): Promise<PreparedDelivery> {
    const { delivery } = work;
    const recipient = recipients.get(delivery.subscriberId ?? '');
    if (recipient === undefined) return { ...work, outcome: skipped(delivery, 'erased') };
    const until = ahead.heldUntil(delivery.id);
    if (until !== null) return { ...work, outcome: held(delivery, 'rendering', until, now) };
    return this.signing.signComposed(work, { recipient, policy, now }, (one) => ahead.compose(one));
  }
}

/** Null where it is to be sent. */
function decidedWithoutMail(work: DeliveryWork, recipients: Recipients): PreparedDelivery | null {
  const { delivery, ambiguousPolicy } = work;
  const outcome = outcomeWithoutMail(delivery, ambiguousPolicy, recipients.get(delivery.subscriberId ?? ''));
  return outcome === null ? null : { ...work, outcome };
}

import { Inject, Injectable } from '@nestjs/common';
import { RecipientsQuery } from '#audience';
import {
  type DeliveryOutcome,
  held,
  notComposed,
  outcomeOfInterruption,
  outcomeWithoutMail,
} from '../delivery-outcome.js';
import type { Admission, DeliveryWork, PreparedDelivery } from '../delivery-source.js';
import type { CampaignMail } from '../mails/campaign-mail.js';
import { MailRendering } from '../mails/mail-rendering.service.js';
import { MailSigning } from '../mails/mail-signing.service.js';
import { SendingPolicies } from '../mails/sending-policies.service.js';
import { returnPathHostOf, type SendingPolicy } from '../mails/sending-policy.js';
import { makeFewAtATime } from './few-at-a-time.js';

type Recipients = Awaited<ReturnType<RecipientsQuery['lookUp']>>;
type Admit = (works: readonly DeliveryWork[], policy: SendingPolicy) => Promise<Admission>;

interface MadeOf {
  readonly mail: CampaignMail;
  readonly policy: SendingPolicy;
  readonly recipients: Recipients;
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
    const prepared: PreparedDelivery[] = [];
    for (const ofRelay of Map.groupBy(works, ({ relay }) => relay).values())
      prepared.push(...(await this.#prepareAlike(ofRelay, mail, now, admit)));
    return prepared;
  }

  /** Of mails that go by one relay, and so are signed alike. */
  async #prepareAlike(
    works: readonly DeliveryWork[],
    mail: CampaignMail,
    now: Date,
    admit: Admit,
  ): Promise<PreparedDelivery[]> {
    const policy = await this.policies.of(mail.scope, mail.sender.domain, works[0]?.relay);
    const ids = works.flatMap(({ delivery }) => delivery.subscriberId ?? []);
    const recipients = await this.recipients.lookUp(mail.scope, mail.campaign.topicIds, ids, now);
    const { decided, undecided } = decide(works, recipients);
    const { going, held: waiting } = await admit(undecided, policy);
    return [...decided, ...waiting, ...(await this.#make(going, { mail, policy, recipients, now }))];
  }

  async #make(
    works: readonly DeliveryWork[],
    { mail, policy, recipients, now }: MadeOf,
  ): Promise<PreparedDelivery[]> {
    const addressed = works.flatMap((work) => {
      const { id: deliveryId, messageId, subscriberId } = work.delivery;
      const recipient = recipients.get(subscriberId ?? '');
      return recipient === undefined ? [] : [{ work, deliveryId, messageId, recipient }];
    });
    const ahead = await this.rendering.ahead(mail, addressed);
    const returnPathHost = returnPathHostOf(policy);
    return makeFewAtATime(addressed, async ({ work, ...one }) => {
      const until = ahead.heldUntil(one.deliveryId);
      if (until !== null) return { ...work, outcome: held(work.delivery, 'rendering', until, now) };
      try {
        const composed = ahead.compose({ ...one, date: now, returnPathHost });
        return await this.signing.sign(work, composed, policy);
      } catch (error) {
        return { ...work, outcome: notComposed(work.delivery, error, now, Math.random) };
      }
    });
  }
}

/** Those that need no mail, with the reason, and the others, of whom each has a recipient. */
function decide(works: readonly DeliveryWork[], recipients: Recipients) {
  const decided: PreparedDelivery[] = [];
  const undecided: DeliveryWork[] = [];
  for (const work of works) {
    const { delivery, ambiguousPolicy } = work;
    const recipient = recipients.get(delivery.subscriberId ?? '');
    const outcome = outcomeWithoutMail(delivery, ambiguousPolicy, recipient);
    if (outcome === null) undecided.push(work);
    else decided.push({ ...work, outcome });
  }
  return { decided, undecided };
}

/** What is in doubt stays in doubt, whatever else is to be said of it: it may have arrived. */
export function withoutMail(work: DeliveryWork, outcome: DeliveryOutcome): PreparedDelivery {
  return { ...work, outcome: outcomeOfInterruption(work.delivery, work.ambiguousPolicy) ?? outcome };
}

import { Injectable } from '@nestjs/common';
import { CustomFieldsQuery, RecipientsQuery } from '#audience';
import {
  type DeliveryOutcome,
  held,
  isContentFault,
  notComposed,
  outcomeOfInterruption,
  outcomeWithoutMail,
} from '../delivery-outcome.js';
import type { Admission, DeliveryWork, PreparedDelivery } from '../delivery-source.js';
import type { CampaignMail, MailOfRecipient } from '../mails/campaign-mail.js';
import { MailRendering } from '../mails/mail-rendering.service.js';
import { MailSigning } from '../mails/mail-signing.service.js';
import { SendingPolicies } from '../mails/sending-policies.service.js';
import { returnPathHostOf, type SendingPolicy } from '../mails/sending-policy.js';
import { makeFewAtATime } from './few-at-a-time.js';

type Recipients = Awaited<ReturnType<RecipientsQuery['lookUp']>>;

export type Admit = (works: readonly DeliveryWork[], policy: SendingPolicy) => Promise<Admission>;

/** A delivery with what its mail is made of. */
interface ComposableWork {
  readonly work: DeliveryWork;
  readonly mail: CampaignMail;
}

type Addressed = ComposableWork & Omit<MailOfRecipient, 'returnPathHost'>;

const admitAll: Admit = (going) => Promise.resolve({ going, held: [] });

/** Makes mails that differ in their language at most, looking once more whether each recipient still wants it. */
@Injectable()
export class MailBatches {
  constructor(
    private readonly recipients: RecipientsQuery,
    private readonly fields: CustomFieldsQuery,
    private readonly policies: SendingPolicies,
    private readonly rendering: MailRendering,
    private readonly signing: MailSigning,
  ) {}

  /** `admit` is asked for those that are to be sent. */
  async prepare(all: readonly ComposableWork[], now: Date, admit = admitAll): Promise<PreparedDelivery[]> {
    const prepared: PreparedDelivery[] = [];
    for (const ofRelay of Map.groupBy(all, ({ work }) => work.relay).values())
      prepared.push(...(await this.#prepareAlike(ofRelay, now, admit)));
    return prepared;
  }

  /** Of mails that go by one relay, and so are signed alike. */
  async #prepareAlike(all: readonly ComposableWork[], now: Date, admit: Admit): Promise<PreparedDelivery[]> {
    const { work: first, mail } = all[0]!;
    const ids = all.flatMap(({ work }) => work.delivery.subscriberId ?? []);
    const recipients = await this.recipients.lookUp(mail.scope, mail.campaign.topicIds, ids, now);
    const fault = await this.#fieldFault(all);
    const policy: SendingPolicy =
      fault === null
        ? await this.policies.of(mail.scope, mail.sender.domain, first.relay)
        : { kind: 'broken', fault };
    const works = all.map(({ work }) => work);
    const { decided, undecided } = decide(works, recipients);
    const { going, held: waiting } = await admit(undecided, policy);
    const mails = new Map(all.map((one) => [one.work.delivery.id, one.mail]));
    const addressed = going.flatMap((work): Addressed[] => {
      const { id: deliveryId, messageId, subscriberId, locale } = work.delivery;
      const recipient = recipients.get(subscriberId ?? '');
      if (recipient === undefined) return [];
      return [
        { work, mail: mails.get(deliveryId) ?? mail, deliveryId, messageId, recipient, locale, date: now },
      ];
    });
    const prepared = [...decided, ...waiting];
    for (const ofMail of Map.groupBy(addressed, (one) => one.mail).values())
      prepared.push(...(await this.#make(ofMail, policy, now)));
    return prepared;
  }

  /**
   * Why these mails would show nothing where their author wrote a merge tag. Asked after their recipients' values were read:
   * an archived field does not come back by itself, so that it was active then if it is now.
   */
  async #fieldFault(all: readonly ComposableWork[]): Promise<string | null> {
    const keys = new Set(all.flatMap(({ mail }) => mail.template.customKeys));
    const [missing] = await this.fields.missingAmong(all[0]!.mail.scope, [...keys]);
    return missing === undefined ? null : `{{ custom.${missing} }} names a custom field that is archived.`;
  }

  async #make(all: readonly Addressed[], policy: SendingPolicy, now: Date): Promise<PreparedDelivery[]> {
    const fail = (work: DeliveryWork, error: unknown) => ({
      ...work,
      outcome: notComposed(work.delivery, error, now, Math.random),
    });
    try {
      const ahead = await this.rendering.ahead(all[0]!.mail, all);
      const returnPathHost = returnPathHostOf(policy);
      return await makeFewAtATime(all, async ({ work, mail: _mail, ...one }) => {
        const until = ahead.heldUntil(one.deliveryId);
        if (until !== null) return { ...work, outcome: held(work.delivery, 'rendering', until, now) };
        try {
          const composed = ahead.compose({ ...one, returnPathHost });
          return await this.signing.sign(work, composed, policy);
        } catch (error) {
          return fail(work, error);
        }
      });
    } catch (error) {
      if (!isContentFault(error)) throw error;
      return all.map(({ work }) => fail(work, error));
    }
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

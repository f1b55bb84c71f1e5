import { setImmediate as nextTurn } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { CustomFieldsQuery, RecipientsQuery } from '#audience';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import { gotUnopened } from '../../campaigns/unopened-mails.query.js';
import { readdress } from '../../deliveries/delivery-queue.query.js';
import {
  type DeliveryOutcome,
  held,
  isContentFault,
  isInDoubt,
  notComposed,
  outcomeOfInterruption,
  outcomeWithoutMail,
  skipped,
} from '../delivery-outcome.js';
import type { Admission, DeliveryWork, PreparedDelivery } from '../delivery-work.js';
import type { CampaignMail, MailOfRecipient } from './campaign-mail.js';
import { MailRenderingService } from './mail-rendering.service.js';
import { MailSigningService, returnPathHostOf, type SendingPolicy } from './mail-signing.service.js';

/** Mails made in one go, about a millisecond in which no connection is listened to (bench/history/campaign.md). */
const IN_ONE_GO = 16;

type Recipients = Awaited<ReturnType<RecipientsQuery['lookUp']>>;

/** Asks for those that are to be sent; the others are held. */
export type Admit = (works: readonly DeliveryWork[], policy: SendingPolicy) => Promise<Admission>;

/** A delivery with what its mail is made of. */
interface ComposableWork {
  readonly work: DeliveryWork;
  readonly mail: CampaignMail;
  /** See `MailOfRecipient`. */
  readonly event?: MailOfRecipient['event'];
}

type Addressed = ComposableWork & Omit<MailOfRecipient, 'returnPathHost'>;

const admitAll: Admit = (going) => Promise.resolve({ going, held: [] });

/** Makes mails that differ in their language at most, checking once more that each recipient still wants it. */
@Injectable()
export class MailBatchesService {
  constructor(
    private readonly database: Database,
    private readonly recipients: RecipientsQuery,
    private readonly fields: CustomFieldsQuery,
    private readonly rendering: MailRenderingService,
    private readonly signing: MailSigningService,
  ) {}

  async prepare(all: readonly ComposableWork[], now: Date, admit = admitAll): Promise<PreparedDelivery[]> {
    const prepared: PreparedDelivery[] = [];
    for (const ofRelay of Map.groupBy(all, ({ work }) => work.relay).values())
      prepared.push(...(await this.#prepareAlike(ofRelay, now, admit)));
    return prepared;
  }

  /** The steps from deliveries to signed mails, for mails that go by one relay and so are signed alike. */
  async #prepareAlike(
    claimed: readonly ComposableWork[],
    now: Date,
    admit: Admit,
  ): Promise<PreparedDelivery[]> {
    const recipients = await this.#lookUpRecipients(claimed, now);
    const all = await this.#readdressed(claimed[0]!.mail.scope, claimed, recipients);
    const policy = await this.#policyOf(all);
    const openers = await this.#openersOf(all);
    const { decided, undecided } = decideWithoutMail(all, recipients, openers);
    const { going, held: waiting } = await admit(undecided, policy);
    const prepared = [...decided, ...waiting];
    for (const alike of Map.groupBy(address(all, going, recipients, now), ({ mail }) => mail).values())
      prepared.push(...(await this.#composeAndSign(alike, policy, now)));
    return prepared;
  }

  #lookUpRecipients(all: readonly ComposableWork[], now: Date): Promise<Recipients> {
    const { scope, campaign } = all[0]!.mail;
    const ids = all.flatMap(({ work }) => work.delivery.subscriberId ?? []);
    return this.recipients.lookUp(scope, campaign.topicIds, ids, now);
  }

  /** Subscribers who have opened the campaign that this one is for those who did not. */
  async #openersOf(all: readonly ComposableWork[]): Promise<ReadonlySet<string | null>> {
    const { scope, campaign } = all[0]!.mail;
    const { resendOf = null } = campaign;
    if (resendOf === null) return new Set();
    const isUnopened = await gotUnopened(this.database, scope, resendOf);
    const ids = all.flatMap(({ work }) => work.delivery.subscriberId ?? []);
    return this.database.transaction(scope, async () => {
      const { rows } = await sql<{ id: string }>`
        select s.id from unnest(${ids}::uuid[]) s(id) where not ${isUnopened(sql`s.id`, true)}
      `.execute(this.database.tables());
      return new Set(rows.map(({ id }) => id));
    });
  }

  /**
   * Each delivery with the address that its mail goes to, noted before it can leave: the recipient's present one. A mail that may
   * have arrived goes again to where it went, whose mailbox knows it by its Message-ID.
   */
  async #readdressed(
    scope: ProjectScope,
    all: readonly ComposableWork[],
    recipients: Recipients,
  ): Promise<readonly ComposableWork[]> {
    const addressed = all.map((one) => {
      const { delivery } = one.work;
      const present = recipients.get(delivery.subscriberId ?? '')?.email ?? delivery.address;
      if (present === delivery.address || isInDoubt(delivery)) return one;
      return { ...one, work: { ...one.work, delivery: { ...delivery, address: present } } };
    });
    const moved = addressed.filter((one, index) => one !== all[index]);
    if (moved.length > 0)
      await readdress(
        this.database,
        scope,
        moved.map(({ work }) => work.delivery),
      );
    return addressed;
  }

  /**
   * Broken where a merge tag would show nothing, since its custom field is archived. Asked after the recipients' values were
   * read: an archived field does not come back by itself, so that it was active then if it is now.
   */
  async #policyOf(all: readonly ComposableWork[]): Promise<SendingPolicy> {
    const { mail, work } = all[0]!;
    const keys = new Set(all.flatMap((one) => one.mail.template.customKeys));
    const [missing] = await this.fields.missingAmong(mail.scope, [...keys]);
    return missing === undefined
      ? this.signing.policyOf(mail.scope, mail.sender.domain, work.relay)
      : { kind: 'broken', fault: `{{ custom.${missing} }} names a custom field that is archived.` };
  }

  async #composeAndSign(
    all: readonly Addressed[],
    policy: SendingPolicy,
    now: Date,
  ): Promise<PreparedDelivery[]> {
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

/** Splits off the deliveries that need no mail, with the reason; each of the others has a recipient. */
function decideWithoutMail(
  all: readonly ComposableWork[],
  recipients: Recipients,
  openers: ReadonlySet<string | null>,
) {
  const decided: PreparedDelivery[] = [];
  const undecided: DeliveryWork[] = [];
  for (const { work } of all) {
    const { delivery, ambiguousPolicy } = work;
    const recipient = recipients.get(delivery.subscriberId ?? '');
    const opened = openers.has(delivery.subscriberId) ? skipped(delivery, 'opened') : null;
    const outcome = outcomeWithoutMail(delivery, ambiguousPolicy, recipient) ?? opened;
    if (outcome === null) undecided.push(work);
    else decided.push({ ...work, outcome });
  }
  return { decided, undecided };
}

function address(
  all: readonly ComposableWork[],
  going: readonly DeliveryWork[],
  recipients: Recipients,
  date: Date,
): Addressed[] {
  const works = new Map(all.map((one) => [one.work.delivery.id, one]));
  return going.flatMap((work): Addressed[] => {
    const { id: deliveryId, messageId, subscriberId, locale, address: email } = work.delivery;
    const known = recipients.get(subscriberId ?? '');
    const one = works.get(deliveryId);
    if (known === undefined || one === undefined) return [];
    const recipient = { ...known, email };
    const { mail, event } = one;
    return [{ work, mail, deliveryId, messageId, recipient, locale, date, event }];
  });
}

/** The outcome without a mail; a delivery in doubt stays in doubt, since it may have arrived. */
export function withoutMail(work: DeliveryWork, outcome: DeliveryOutcome): PreparedDelivery {
  return { ...work, outcome: outcomeOfInterruption(work.delivery, work.ambiguousPolicy) ?? outcome };
}

/** `Promise.all` of what `make` makes of each, begun a few at a time so that connections are listened to in between. */
export async function makeFewAtATime<Item, Made>(
  items: readonly Item[],
  make: (item: Item) => Promise<Made>,
): Promise<Made[]> {
  const made: Promise<Made>[] = [];
  for (const item of items) {
    const one = make(item);
    // Errors reach the caller through `Promise.all`; until then nobody listens, which would end the process.
    one.catch(() => undefined);
    made.push(one);
    if (made.length % IN_ONE_GO === 0) await nextTurn();
  }
  return Promise.all(made);
}

import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { type FailureCause, SuppressionsService } from '#audience';
import { bounceClassesOf, CONSEQUENCES, type MailFailure } from '#deliverability';
import { parseEmailAddress, type ProjectScope } from '#kernel';
import { Database, named } from '#platform';
import type { DeliveryKind } from '../deliveries/delivery.js';
import { LinkedMailsService } from '../deliveries/linked-mails.service.js';

/** The classes of bounces of which `holds`, for `in (…)`: written out, since partial indexes name them. */
export function bounceClassesIn(holds: Parameters<typeof bounceClassesOf>[0]): RawBuilder<unknown> {
  return sql.join(bounceClassesOf(holds).map((bounceClass) => sql.lit(bounceClass)));
}

/** A mailbox that has turned so many campaigns away, over so long, is given up. */
const CAMPAIGNS = 3;
const DAYS = 14;
const DAY_S = 24 * 60 * 60;
const TURNED_AWAY = bounceClassesIn(({ address }) => address === 'suppress-after-streak');

/** A mail that the next hop refused, that came back, or that was called spam. */
export interface FailedMail {
  readonly deliveryId: string;
  readonly kind: DeliveryKind;
  readonly subscriberId: string | null;
  readonly address: string;
  readonly addressKey: string;
  /** The time at which it was sent or refused. */
  readonly finishedAt: Date | null;
}

/** A failed mail, with its failure. */
type Failure = FailedMail & { readonly failure: MailFailure };
type Consequence = Failure & { readonly cause: FailureCause };

/** The address as the mail has it; none where its person was erased. */
function mailedAddress({ subscriberId, address }: FailedMail) {
  const parsed = parseEmailAddress(address);
  return 'address' in parsed ? [{ ...parsed.address, subscriberId }] : [];
}

const BOUNCED: FailureCause = { reason: 'HARD_BOUNCE', streams: 'ALL' };
const COMPLAINT_ABOUT_MARKETING: FailureCause = { reason: 'SPAM_COMPLAINT', streams: 'MARKETING' };

/** A complaint bars the stream of the mail that it is about. */
const COMPLAINT_ABOUT: Readonly<Record<DeliveryKind, FailureCause>> = {
  OPT_IN: COMPLAINT_ABOUT_MARKETING,
  CAMPAIGN: COMPLAINT_ABOUT_MARKETING,
  AUTOMATION: COMPLAINT_ABOUT_MARKETING,
  TEST: COMPLAINT_ABOUT_MARKETING,
  MESSAGE: { reason: 'SPAM_COMPLAINT', streams: 'ALL' },
};

/** Suppresses addresses as a failure demands, however it became known. */
@Injectable()
export class AddressConsequencesService {
  constructor(
    private readonly database: Database,
    private readonly suppressions: SuppressionsService,
    private readonly mails: LinkedMailsService,
  ) {}

  /** In the open transaction, which has recorded the failures and counts them afterwards. */
  async follow(scope: ProjectScope, failed: readonly Failure[]): Promise<void> {
    const suppressed: Consequence[] = [];
    for (const mail of failed)
      if (await this.#isSuppressed(scope, mail))
        suppressed.push({ ...mail, cause: await this.#causeOf(scope, mail) });
    for (const [cause, mails] of Map.groupBy(suppressed, (mail) => mail.cause)) {
      const reached = await this.suppressions.suppressAll(scope, mails.flatMap(mailedAddress), cause);
      if (cause === BOUNCED) continue;
      for (const mail of mails) await this.#silence(scope, mail, cause, reached);
    }
  }

  async #causeOf(scope: ProjectScope, { deliveryId, kind, failure }: Failure): Promise<FailureCause> {
    if (failure !== 'complaint') return BOUNCED;
    const isMarketing = kind === 'MESSAGE' && (await this.#isNotification(scope, deliveryId));
    return isMarketing ? COMPLAINT_ABOUT_MARKETING : COMPLAINT_ABOUT[kind];
  }

  /** True for a message about a topic: its reader can leave that, and may still want their receipts. */
  async #isNotification({ environmentId }: ProjectScope, deliveryId: string): Promise<boolean> {
    const { rows } = await sql<{ is: boolean }>`
      select m.topic_id is not null as is from messaging.deliveries d
      join messaging.messages m on m.id = d.source_id and m.environment_id = d.environment_id
      where d.id = ${deliveryId} and d.environment_id = ${environmentId}
    `.execute(this.database.tables());
    return rows[0]?.is === true;
  }

  async #isSuppressed(scope: ProjectScope, mail: Failure): Promise<boolean> {
    const { address: consequence } = CONSEQUENCES[mail.failure];
    return consequence === 'suppress-after-streak'
      ? this.#isGivenUp(scope, mail)
      : consequence === 'suppress';
  }

  /**
   * Suppresses the present address, too, of whom a complained-of mail was for, or who has its address since: they want no more
   * mail. A bounce tells of the address that the mail went to alone.
   */
  async #silence(
    scope: ProjectScope,
    mail: Failure,
    cause: FailureCause,
    reached: ReadonlySet<string>,
  ): Promise<void> {
    const reader = await this.mails.readerOf(scope, { ...mail, id: mail.deliveryId });
    if (typeof reader === 'string' || reached.has(reader.subscriberId)) return;
    await this.suppressions.suppressPerson(scope, reader.subscriberId, cause);
  }

  /**
   * True when the mailbox, full or otherwise unwilling, has turned away at least three campaigns over at least 14 days up to this
   * mail, in the order of sending and without one in between that stayed. Bounces for other reasons say nothing of it.
   */
  async #isGivenUp(
    scope: ProjectScope,
    { kind, subscriberId, addressKey, finishedAt }: FailedMail,
  ): Promise<boolean> {
    if (kind !== 'CAMPAIGN' || subscriberId === null || finishedAt === null) return false;
    const { rows } = await sql<{ campaigns: number; seconds: number }>`${named('mails_of_address')}
      with mails as materialized (
        select d.source_id, d.finished_at, d.state = 'SENT' and d.bounced_at is null as stayed,
          d.bounce_class in (${TURNED_AWAY}) or (d.state = 'FAILED' and d.reason in (${TURNED_AWAY})) as returned
        from messaging.deliveries d
        where d.environment_id = ${scope.environmentId} and d.subscriber_id = ${subscriberId} and d.kind = 'CAMPAIGN'
          and d.address_key = ${addressKey} and d.finished_at <= ${finishedAt}
      )
      select count(distinct source_id)::int as campaigns,
        coalesce(extract(epoch from max(finished_at) - min(finished_at)), 0)::float8 as seconds
      from mails
      where returned and finished_at > coalesce((select max(finished_at) from mails where stayed), '-infinity')
    `.execute(this.database.tables());
    const [streak] = rows;
    return streak !== undefined && streak.campaigns >= CAMPAIGNS && streak.seconds >= DAYS * DAY_S;
  }
}

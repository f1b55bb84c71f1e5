import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { SuppressionsService } from '#audience';
import { bounceClassesOf, CONSEQUENCES, type MailFailure } from '#deliverability';
import { type EmailAddress, parseEmailAddress, type ProjectScope } from '#kernel';
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

const reasonOf = ({ failure }: Failure) => (failure === 'complaint' ? 'SPAM_COMPLAINT' : 'HARD_BOUNCE');

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
    const suppressed: Failure[] = [];
    for (const mail of failed) if (await this.#isSuppressed(scope, mail)) suppressed.push(mail);
    for (const [reason, mails] of Map.groupBy(suppressed, reasonOf)) {
      const owners: (string | EmailAddress)[] = [];
      for (const mail of mails) owners.push(...(await this.#ownerOf(scope, mail)));
      await this.suppressions.suppressAll(scope, owners, reason);
    }
  }

  async #isSuppressed(scope: ProjectScope, mail: Failure): Promise<boolean> {
    const { address: consequence } = CONSEQUENCES[mail.failure];
    return consequence === 'suppress-after-streak'
      ? this.#isGivenUp(scope, mail)
      : consequence === 'suppress';
  }

  /** A subscriber's id, or the address of nobody: suppressed by the person, who must not come back with an address if erased. */
  async #ownerOf(scope: ProjectScope, mail: Failure): Promise<readonly (string | EmailAddress)[]> {
    const subscriberId =
      mail.failure === 'complaint' ? await this.#complainant(scope, mail) : mail.subscriberId;
    if (subscriberId !== null) return [subscriberId];
    const parsed = parseEmailAddress(mail.address);
    return 'address' in parsed ? [parsed.address] : [];
  }

  /**
   * The person who has the address of the mail now: they want no more mail, whoever had it when it was sent. A bounce tells of
   * the address as it was then.
   */
  async #complainant(scope: ProjectScope, mail: FailedMail): Promise<string | null> {
    const reader = await this.mails.readerOf(scope, { ...mail, id: mail.deliveryId });
    return typeof reader === 'string' ? mail.subscriberId : reader.subscriberId;
  }

  /**
   * True when the mailbox, full or otherwise unwilling, has turned away at least three campaigns over at least 14 days up to this
   * mail, in the order of sending and without one in between that stayed. Bounces for other reasons say nothing of it.
   */
  async #isGivenUp(scope: ProjectScope, { kind, subscriberId, finishedAt }: FailedMail): Promise<boolean> {
    if (kind !== 'CAMPAIGN' || subscriberId === null || finishedAt === null) return false;
    const { rows } = await sql<{ campaigns: number; seconds: number }>`${named('mails_of_address')}
      with mails as materialized (
        select d.source_id, d.finished_at, d.state = 'SENT' and d.bounced_at is null as stayed,
          d.bounce_class in (${TURNED_AWAY}) or (d.state = 'FAILED' and d.reason in (${TURNED_AWAY})) as returned
        from messaging.deliveries d
        where d.environment_id = ${scope.environmentId} and d.subscriber_id = ${subscriberId} and d.kind = 'CAMPAIGN'
          and d.finished_at <= ${finishedAt}
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

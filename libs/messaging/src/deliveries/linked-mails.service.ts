import { type RawBuilder, sql } from 'kysely';
import { Injectable } from '@nestjs/common';
import {
  ERASED_MAILS_KEPT_DAYS,
  ErasedAddressesRepository,
  type PageReader,
  PreferencesService,
} from '#audience';
import { Clock, type ProjectScope } from '#kernel';
import type { DeliveryKind } from './delivery.js';
import {
  before,
  Database,
  type LinkedMail,
  named,
  neverJoined,
  Periodic,
  removeOldRows,
  type RowsOf,
  type Statements,
} from '#platform';

/** A mail that its reader can leave: of a campaign, of an automation, or a message about a topic. */
export interface MailOfLink {
  readonly id: string;
  readonly kind: DeliveryKind;
  readonly queuedOn: string;
  readonly subscriberId: string | null;
  readonly address: string;
  readonly addressKey: string;
  /** The reader's language when it was queued; null: not known. */
  readonly locale: string | null;
  /** Number of its campaign's variant; null where it has none. */
  readonly variant: number | null;
  /** When it was sent; where it is not yet, when it was made. */
  readonly shownAt: Date;
  readonly messageId: string;
  /** Null for a mail of an automation, and a message. */
  readonly campaignId: string | null;
  readonly versionId: number | null;
  readonly place: number | null;
  /** When the run of an automation's mail began. */
  readonly enteredAt: Date | null;
  readonly topicIds: string[];
}

/** The mail of a link; null when there is none. */
export async function findMailOfLink(
  database: Database,
  scope: ProjectScope,
  deliveryId: string,
): Promise<MailOfLink | null> {
  const [[mail]] = await database.together(readingMailOfLink(scope, deliveryId));
  return mail ?? null;
}

/** Statement that reads the mail of a link, and may lock it. */
function readingMailOfLink(
  { environmentId }: ProjectScope,
  deliveryId: string,
  lock?: 'lock',
): RawBuilder<MailOfLink> {
  return sql<MailOfLink>`${named('mail_of_link')}
    select d.id, d.kind, d.queued_on, d.subscriber_id, d.address, d.address_key, d.locale,
      coalesce(d.sent_at, d.created_at) as shown_at, d.message_id,
      c.id as campaign_id, coalesce(d.variant, c.winning_variant) as variant, v.id as version_id, p.place, r.entered_at,
      coalesce(c.topic_ids, array_remove(array[v.mail_topic_ids[p.place + 1], m.topic_id], null)) as topic_ids
    from messaging.deliveries d
    left join messaging.campaigns c
      on d.kind = 'CAMPAIGN' and c.id = d.source_id and c.environment_id = ${environmentId}
    left join lateral (
      select r.version_id, r.entered_at from messaging.automation_runs r
      where d.kind = 'AUTOMATION' and r.id = messaging.run_of_step(d.source_id) and r.environment_id = ${environmentId}
      ${neverJoined}
    ) r on true
    left join messaging.automation_versions v on v.id = r.version_id and v.environment_id = ${environmentId}
    left join messaging.messages m on d.kind = 'MESSAGE' and m.id = d.source_id and m.environment_id = ${environmentId}
    cross join lateral (select messaging.place_of_step(d.source_id) as place) p
    where d.id = ${deliveryId} and d.environment_id = ${environmentId} and (c.id is not null or v.id is not null or m.topic_id is not null)
    ${lock === undefined ? sql`` : sql`for update of d`}`;
}

/** The topics of a campaign; a topic's own id where it is none. */
async function topicsAbout(
  database: Database,
  { environmentId }: ProjectScope,
  id: string,
): Promise<string[]> {
  const { rows } = await sql<{ topicIds: string[] }>`
    select c.topic_ids from messaging.campaigns c where c.id = ${id} and c.environment_id = ${environmentId}
  `.execute(database.tables());
  return rows[0]?.topicIds ?? [id];
}

/** The mail that a link belongs to. */
export interface LinkToMail {
  /** The delivery's. */
  readonly id: string;
  /** The rest of the token. */
  readonly mail?: LinkedMail | null;
}

/**
 * The present owner of a mail's address. `nobody`: the subscriber was erased; `unknown`: so long ago that a later one with the
 * address cannot be found.
 */
export type MailReader = PageReader | 'nobody' | 'unknown';

export interface MailAndReader extends Pick<MailOfLink, 'locale' | 'topicIds'> {
  readonly reader: MailReader;
  /** Null where it is no longer kept. */
  readonly kept: MailOfLink | null;
}

/** Finds the mails of links and the present owners of their addresses, in the open transaction. */
@Injectable()
export class LinkedMailsService {
  constructor(
    private readonly database: Database,
    private readonly people: PreferencesService,
    private readonly erased: ErasedAddressesRepository,
    private readonly clock: Clock,
  ) {}

  /**
   * A mail that is no longer kept is found by its token and its subscriber; null without such a mail. Also the rows of `beside`,
   * read in the same message, behind the locks (`lock`) of the mail and of the token's subscriber.
   */
  async find<Rows extends readonly unknown[]>(
    scope: ProjectScope,
    { id, mail: linked = null }: LinkToMail,
    beside: Statements<Rows>,
    lock?: 'lock',
  ): Promise<readonly [MailAndReader | null, ...RowsOf<Rows>]> {
    const [[kept], [reader], ...rows] = await this.database.together<[MailOfLink, PageReader, ...unknown[]]>(
      readingMailOfLink(scope, id, lock),
      this.people.readingReader(scope, linked?.subscriberId ?? null, lock),
      ...beside,
    );
    const mail = await this.#with(scope, kept ?? null, linked, reader ?? null);
    return [mail, ...(rows as readonly unknown[] as RowsOf<Rows>)];
  }

  /** `reader` is the token's subscriber. */
  async #with(
    scope: ProjectScope,
    kept: MailOfLink | null,
    linked: LinkedMail | null,
    reader: PageReader | null,
  ): Promise<MailAndReader | null> {
    if (kept !== null) {
      const isOwn = reader !== null && reader.subscriberId === kept.subscriberId;
      return { ...kept, kept, reader: isOwn ? reader : await this.readerOf(scope, kept) };
    }
    if (linked === null) return null;
    const topicIds = await topicsAbout(this.database, scope, linked.aboutId);
    return { reader: reader ?? 'unknown', locale: null, topicIds, kept };
  }

  /** The mail's subscriber; if erased, the one who signed up with the address since. */
  async readerOf(
    scope: ProjectScope,
    { id, subscriberId, addressKey }: Pick<MailOfLink, 'id' | 'subscriberId' | 'addressKey'>,
  ): Promise<MailReader> {
    const reader = subscriberId === null ? null : await this.people.readerOf(scope, subscriberId);
    if (reader !== null) return reader;
    const digest =
      subscriberId === null
        ? await addressDigestOf(this.database, scope, id, this.clock.now())
        : this.erased.digestOf(scope, addressKey);
    if (digest === null) return 'unknown';
    const ownerId = await this.erased.ownerOf(scope, digest);
    return (ownerId === null ? null : await this.people.readerOf(scope, ownerId)) ?? 'nobody';
  }

  /** Removes digests of erased subscribers' addresses once they are too old. */
  @Periodic('remove-erased-mails', { everyMs: 60 * 60_000 })
  removeErased(): Promise<void> {
    const where = sql`not ${isRecent(sql`queued_on`, this.clock.now())}`;
    return removeOldRows(this.database, { table: 'messaging.erased_mails', where });
  }
}

const KEPT_MS = ERASED_MAILS_KEPT_DAYS * 24 * 60 * 60_000;

/** A person whose mails are being erased. */
interface ErasedReader {
  readonly subscriberId: string;
  /** Expression for the digest of the address of a delivery `d`: a person may have had several. */
  readonly digest: RawBuilder<Buffer>;
}

/** Keeps the digest of its address with each recent mail of a subscriber, whose deliveries are depersonalised next. */
export async function keepErasedMails(
  database: Database,
  { environmentId }: ProjectScope,
  { subscriberId, digest }: ErasedReader,
  now: Date,
): Promise<void> {
  await sql`
    insert into messaging.erased_mails (environment_id, delivery_id, address_digest, queued_on)
    select ${environmentId}, d.id, ${digest}, d.queued_on from messaging.deliveries d
    where d.environment_id = ${environmentId} and d.subscriber_id = ${subscriberId}
      and d.kind in ('CAMPAIGN', 'AUTOMATION', 'MESSAGE') and ${isRecent(sql`d.queued_on`, now)}
    on conflict (environment_id, delivery_id) do nothing
  `.execute(database.tables());
}

/** The digest of the address that a mail went to; null when it is no recent mail of an erased subscriber. */
async function addressDigestOf(
  database: Database,
  scope: ProjectScope,
  deliveryId: string,
  now: Date,
): Promise<Buffer | null> {
  const { rows } = await sql<{ digest: Buffer }>`
    select e.address_digest as digest from messaging.erased_mails e
    where e.environment_id = ${scope.environmentId} and e.delivery_id = ${deliveryId} and ${isRecent(sql`e.queued_on`, now)}
  `.execute(database.tables());
  return rows[0]?.digest ?? null;
}

function isRecent(queuedOn: RawBuilder<unknown>, now: Date): RawBuilder<boolean> {
  return sql<boolean>`${queuedOn} >= (${before(now, KEPT_MS)}::timestamptz at time zone 'UTC')::date`;
}

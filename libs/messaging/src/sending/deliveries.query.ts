import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import type { BounceClass } from '#deliverability';
import {
  DomainValidationError,
  type EmailAddress,
  NotFoundError,
  type Page,
  pageOfRows,
  type PageRequest,
  type Place,
  type ProjectScope,
} from '#kernel';
import { Database, keptDay, limitOf, neverJoined, plannedForValues } from '#platform';
import { isCampaignKey } from '../campaigns/campaign.js';
import { PARTITION } from '../deliveries/campaign-front.query.js';
import { type DeliveryState, masked } from '../deliveries/delivery.js';

/** A delivery as lists show it. */
export interface DeliveryRow {
  readonly id: string;
  /** Null when the subscriber was erased, the address as well. */
  readonly subscriberId: string | null;
  readonly email: string | null;
  readonly status: DeliveryState;
  readonly reason: string | null;
  readonly locale: string | null;
  readonly variant: number | null;
  readonly attempts: number;
  readonly lastError: string | null;
  readonly messageId: string;
  readonly possibleDuplicate: boolean;
  readonly relayKey: string | null;
  readonly providerMessageId: string | null;
  readonly nextAttemptAt: Date | null;
  readonly sentAt: Date | null;
  readonly finishedAt: Date | null;
  /** The first open or click of a person. */
  readonly openedAt: Date | null;
  readonly clickedAt: Date | null;
  /** Clicks of people. */
  readonly clicks: number;
  readonly bouncedAt: Date | null;
  readonly bounceClass: BounceClass | null;
  readonly unsubscribedAt: Date | null;
  readonly complainedAt: Date | null;
}

/** Deliveries of which all that is given holds. */
export interface DeliveryFilters {
  readonly status?: DeliveryState | undefined;
  /** Exactly this address: a beginning would let those guess who may not see addresses. */
  readonly email?: EmailAddress | undefined;
  readonly opened?: boolean | undefined;
  readonly clicked?: boolean | undefined;
  /** A link that was followed: its number, or its address. */
  readonly link?: string | undefined;
  readonly bounced?: boolean | undefined;
}

/** States whose deliveries lie behind the campaign's front, and those that `deliveries_exceptional` holds. */
const OPEN: readonly DeliveryState[] = ['PENDING', 'CLAIMED', 'SENDING', 'DEFERRED'];
const EXCEPTIONAL: readonly DeliveryState[] = ['FAILED', 'AMBIGUOUS', 'SKIPPED', 'CANCELLED'];
/** So few among a million are looked up by their events; more are met while the list is walked. */
const FEW = 1_000;
const LINK_NUMBER = /^\d{1,5}$/;

interface ListedCampaign {
  readonly id: string;
  /** Null before it was sent. */
  readonly queuedOn: string | null;
  /** Null when it was sent again, which queues those anew whom it did not reach. */
  readonly queued: number | null;
  readonly sent: number;
  readonly uniqueOpens: number;
  readonly uniqueClicks: number;
  readonly bounced: number;
  /** Its deliveries are kept no longer. */
  readonly isLetGo: boolean;
}

type SentCampaign = ListedCampaign & { readonly queuedOn: string };

/** A link of a campaign, in each of its sets. */
interface FollowedLink {
  /** As `delivery_engagement.clicked_links` has them. */
  readonly numbers: readonly string[];
  readonly uniqueClicks: number;
}

type Wanted = Omit<DeliveryFilters, 'link'> & { readonly link: FollowedLink | undefined };

/** Lists the deliveries of a campaign. */
@Injectable()
export class DeliveriesQuery {
  constructor(private readonly database: Database) {}

  /**
   * All of a campaign's deliveries were made at one moment: newest first is by subscriber, the youngest first, behind those of
   * erased ones. Without `showsAddresses` they are masked. `NotFoundError` without such a campaign, `DomainValidationError` for a
   * link that it does not have.
   */
  list(
    scope: ProjectScope,
    campaignKey: string,
    request: PageRequest & DeliveryFilters,
    showsAddresses = true,
  ): Promise<Page<DeliveryRow>> {
    if (!isCampaignKey(campaignKey)) throw new NotFoundError();
    const read = async () => {
      const campaign = await this.#campaign(scope, campaignKey);
      const link = request.link === undefined ? undefined : await this.#link(scope, campaign, request.link);
      if (campaign.isLetGo || campaign.queuedOn === null) return pageOfRows([], request, 0);
      const sent = { ...campaign, queuedOn: campaign.queuedOn };
      const wanted = { ...request, link };
      const rows = await this.#rows(scope, sent, wanted, request);
      const total = request.after?.totalElements ?? (await this.#total(scope, sent, wanted));
      return pageOfRows(showsAddresses ? rows : rows.map(masked), request, total);
    };
    return this.database.read(scope, { isList: true, onReplica: true }, read);
  }

  async #campaign(scope: ProjectScope, campaignKey: string): Promise<ListedCampaign> {
    const day = await keptDay(this.database, scope, 'DELIVERIES');
    const { rows } = await sql<ListedCampaign>`
      select c.id, ${PARTITION} as queued_on, case when c.audience_at = c.queued_at then c.expanded_emails end as queued, k.*,
        coalesce(${PARTITION} < ${day}::date, false) as is_let_go
      from messaging.campaigns c cross join lateral (
        select coalesce(sum(k.sent), 0)::bigint as sent, coalesce(sum(k.unique_opens), 0)::bigint as unique_opens,
          coalesce(sum(k.unique_clicks), 0)::bigint as unique_clicks,
          coalesce(sum(k.hard_bounced + k.soft_bounced), 0)::bigint as bounced
        from messaging.campaign_counters k where k.campaign_id = c.id and k.environment_id = c.environment_id
      ) k
      where c.environment_id = ${scope.environmentId} and c.campaign_key = ${campaignKey} and c.deleted_at is null
    `.execute(this.database.tables());
    if (rows[0] === undefined) throw new NotFoundError();
    return rows[0];
  }

  async #link(
    { environmentId }: ProjectScope,
    { id }: ListedCampaign,
    wanted: string,
  ): Promise<FollowedLink> {
    const isIt = LINK_NUMBER.test(wanted) ? sql`u.number = ${Number(wanted)}` : sql`u.url = ${wanted}`;
    const { rows } = await sql<FollowedLink>`
      select coalesce(array_agg(l.number), '{}') as numbers, coalesce(sum(k.unique_clicks), 0)::bigint as unique_clicks
      from (
        select s.id, u.number::int as place, s.id << 16 | u.number as number
        from messaging.link_sets s cross join lateral unnest(s.urls) with ordinality u(url, number)
        where s.campaign_id = ${id} and s.environment_id = ${environmentId} and ${isIt}
      ) l left join lateral (
        select sum(k.unique_clicks) as unique_clicks from messaging.link_counters k
        where k.campaign_id = ${id} and k.environment_id = ${environmentId} and k.link_set = l.id and k.link_number = l.place
      ) k on true
    `.execute(this.database.tables());
    const [link] = rows;
    if (link === undefined || link.numbers.length === 0)
      throw new DomainValidationError({
        link: 'is not the number or address of a tracked link of the campaign',
      });
    return link;
  }

  async #rows(scope: ProjectScope, campaign: SentCampaign, wanted: Wanted, request: PageRequest) {
    const { id, queuedOn } = campaign;
    const answer = (type: 'UNSUBSCRIBED' | 'COMPLAINED') => sql`(
      select min(e.occurred_at) from messaging.delivery_events e
      where e.campaign_id = ${id} and e.delivery_id = d.id and e.environment_id = ${scope.environmentId} and e.type = ${type}
    )`;
    const engagement = engagementOf(scope, queuedOn);
    const { rows } = await sql<DeliveryRow & { readonly place: Place }>`
      with d as materialized (
        select d.* from messaging.deliveries d ${asksEngagement(wanted) ? sql`left join lateral (${engagement}) g on true` : sql``}
        where ${isOf(scope, campaign)} and ${isWanted(scope, campaign, wanted)} and ${isBehind(request)}
          and ${await this.#isAmongFew(scope, campaign, wanted)}
        order by d.subscriber_id desc, d.id desc ${limitOf(request)}
      )
      select d.id, d.subscriber_id, case when d.subscriber_id is not null then d.address end as email, d.state as status, d.reason,
        d.locale, d.variant, d.attempt as attempts, d.last_error, d.message_id, d.possible_duplicate, d.relay_key, d.provider_message_id,
        case when d.finished_at is null then nullif(d.next_attempt_at, 'infinity') end as next_attempt_at, d.sent_at, d.finished_at,
        g.first_opened_at as opened_at, g.first_clicked_at as clicked_at, coalesce(g.clicks, 0) as clicks, d.bounced_at,
        d.bounce_class, least(g.unsubscribed_at, ${answer('UNSUBSCRIBED')}) as unsubscribed_at,
        least(g.complained_at, ${answer('COMPLAINED')}) as complained_at, json_build_array(d.subscriber_id, d.id) as place
      from d left join lateral (${engagement}) g on true
      order by d.subscriber_id desc, d.id desc
    `.execute(this.database.tables());
    return rows;
  }

  /** Known of most; the rest are counted: rare states in the indexes that have no others, what readers did in one pass. */
  async #total(scope: ProjectScope, campaign: SentCampaign, wanted: Wanted): Promise<number> {
    const known = knownTotal(campaign, wanted);
    if (known !== null) return known;
    const { id, queuedOn } = campaign;
    const engagement = sql`left join messaging.delivery_engagement g on g.delivery_id = d.id
      and g.queued_on = ${sql.lit(queuedOn)}::date and g.environment_id = d.environment_id and g.campaign_id = ${id}`;
    const counted = sql<{ total: number }>`
      select count(*) as total from messaging.deliveries d ${asksEngagement(wanted) ? engagement : sql``}
      where ${isOf(scope, campaign)} and ${isWanted(scope, campaign, wanted)} and ${await this.#isAmongFew(scope, campaign, wanted)}
    `;
    const count = () => counted.execute(this.database.tables());
    const { rows } = await (asksEngagement(wanted)
      ? plannedForValues(this.database, { work_mem: '64MB' }, count)
      : count());
    return rows[0]!.total;
  }

  /** Condition that finds few deliveries by their events, as long as those are kept; any delivery otherwise. */
  async #isAmongFew(
    scope: ProjectScope,
    { id, queuedOn, uniqueOpens, uniqueClicks, bounced }: SentCampaign,
    { opened, clicked, link, bounced: isBounced }: Wanted,
  ): Promise<RawBuilder<unknown>> {
    const looks = sql`e.classification = 'human'`;
    const rarest = [
      {
        is: link !== undefined,
        count: link?.uniqueClicks ?? 0,
        events: sql`e.type = 'CLICKED' and ${looks}`,
      },
      { is: clicked, count: uniqueClicks, events: sql`e.type = 'CLICKED' and ${looks}` },
      { is: isBounced, count: bounced, events: sql`e.type = 'BOUNCED'` },
      { is: opened, count: uniqueOpens, events: sql`e.type in ('OPENED', 'CLICKED') and ${looks}` },
    ]
      .filter(({ is }) => is === true)
      .toSorted((one, other) => one.count - other.count)[0];
    if (rarest === undefined || rarest.count > FEW) return sql`true`;
    if (rarest.count === 0) return sql`false`;
    if (queuedOn < (await keptDay(this.database, scope, 'EVENTS'))) return sql`true`;
    const ofLink =
      link === undefined || rarest.count !== link.uniqueClicks ? sql`` : sql`and ${isClickOn(link)}`;
    return sql`d.id = any(array(
      select e.delivery_id from messaging.delivery_events e
      where e.campaign_id = ${id} and e.environment_id = ${scope.environmentId} and ${rarest.events} ${ofLink}
    ))`;
  }
}

const isClickOn = ({ numbers }: FollowedLink) =>
  sql`(e.link_set << 16 | e.link_number) = any(${[...numbers]}::bigint[])`;

/** People's engagement with the delivery `d`. */
const engagementOf = ({ environmentId }: ProjectScope, queuedOn: string) => sql`
  select * from messaging.delivery_engagement g
  where g.delivery_id = d.id and g.queued_on = ${sql.lit(queuedOn)}::date and g.environment_id = ${environmentId} ${neverJoined}
`;

const isOf = ({ environmentId }: ProjectScope, { id, queuedOn }: SentCampaign) => sql`
  d.source_id = ${id} and d.queued_on = ${sql.lit(queuedOn)}::date and d.environment_id = ${environmentId}
`;

const asksEngagement = ({ opened, clicked, link }: Wanted): boolean =>
  opened !== undefined || clicked !== undefined || link !== undefined;

/** Says in the indexes' own words what follows from the state, so that a rare one is not searched among all. */
function isWanted(
  scope: ProjectScope,
  { id }: SentCampaign,
  { status, email, opened, clicked, link, bounced }: Wanted,
): RawBuilder<unknown> {
  const conditions = [sql`true`];
  if (status !== undefined) conditions.push(sql`d.state = ${status}`);
  if (status !== undefined && OPEN.includes(status)) conditions.push(isOpen(scope, id));
  if (status !== undefined && EXCEPTIONAL.includes(status)) conditions.push(sql`d.reason is not null`);
  if (email !== undefined) conditions.push(sql`d.address_key = ${email.key}`);
  if (opened !== undefined) conditions.push(sql`(coalesce(g.opens, 0) > 0) = ${opened}`);
  if (clicked !== undefined) conditions.push(sql`(coalesce(g.clicks, 0) > 0) = ${clicked}`);
  if (link !== undefined) conditions.push(sql`g.clicked_links && ${[...link.numbers]}::bigint[]`);
  if (bounced !== undefined) conditions.push(sql`(d.bounced_at is not null) = ${bounced}`);
  return sql.join(conditions, sql` and `);
}

/** Total that the campaign's counters tell; null where only a count does. */
function knownTotal(
  { queued, sent, uniqueOpens, uniqueClicks, bounced }: ListedCampaign,
  { status, email, opened, clicked, link, bounced: isBounced }: Wanted,
): number | null {
  const others = (some: number) => (queued === null ? null : queued - some);
  if (email !== undefined) return null;
  const asksLooks = opened !== undefined || clicked !== undefined || link !== undefined;
  if (status !== undefined) return status === 'SENT' && !asksLooks && isBounced === undefined ? sent : null;
  if (isBounced !== undefined) {
    if (asksLooks) return null;
    return isBounced ? bounced : others(bounced);
  }
  if (link !== undefined) return opened === false || clicked === false ? 0 : link.uniqueClicks;
  if (clicked === true) return opened === false ? 0 : uniqueClicks;
  if (opened === true) return clicked === false ? uniqueOpens - uniqueClicks : uniqueOpens;
  if (opened === false) return others(uniqueOpens);
  return others(clicked === false ? uniqueClicks : 0);
}

/**
 * Open, of that campaign: the front is looked up once. The planner takes an end alone for a third of the campaign, and both ends of
 * a range for a few rows.
 */
function isOpen(scope: ProjectScope, id: string): RawBuilder<boolean> {
  const isIt = sql`c.id = ${id} and c.environment_id = ${scope.environmentId}`;
  return sql<boolean>`(
    d.finished_at is null and d.kind = 'CAMPAIGN' and (d.next_attempt_at, d.id) >= (
      (select c.front_at from messaging.campaigns c where ${isIt}), (select c.front_id from messaging.campaigns c where ${isIt}))
    and d.next_attempt_at between (select c.front_at from messaging.campaigns c where ${isIt}) and 'infinity'
  )`;
}

/** Deliveries of erased subscribers come first, placed by their id alone. */
function isBehind({ after }: PageRequest): RawBuilder<boolean> {
  if (!after) return sql<boolean>`true`;
  const [subscriberId, id] = after.place;
  return subscriberId === null
    ? sql<boolean>`(d.subscriber_id is not null or d.id < ${id}::uuid)`
    : sql<boolean>`(d.subscriber_id, d.id) < (${subscriberId}::uuid, ${id}::uuid)`;
}

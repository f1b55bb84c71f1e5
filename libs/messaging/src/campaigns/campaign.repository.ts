import { Injectable } from '@nestjs/common';
import { type FindOneOptions, LockMode } from '@mikro-orm/postgresql';
import { type Kysely, sql } from 'kysely';
import { environmentScopes } from '#access';
import {
  Clock,
  InvalidStateError,
  newId,
  NotFoundError,
  type Page,
  type PageRequest,
  type ProjectScope,
} from '#kernel';
import { Database, keptDay, NEWEST_FIRST, present } from '#platform';
import { PARTITION } from '../deliveries/campaign-front.query.js';
import type { MessagingTables } from '../messaging-tables.js';
import { SENT_SUBJECT, SENT_TRANSLATIONS } from './campaign-contents.query.js';
import { Campaign, type CampaignStatus, DRAFT_FIELDS, isCampaignKey, type NewCampaign } from './campaign.js';

const COLUMNS = [
  ...DRAFT_FIELDS,
  'testPhase',
  'winningVariant',
  'resendOf',
  'metadata',
  'id',
  'campaignKey',
  'status',
  'estimatedRecipientCount',
  'estimatedAt',
  'completedAt',
  'preSendScore',
  'preSendStatus',
  'createdAt',
  'updatedAt',
] as const;

/** A campaign as lists show it. */
export type CampaignRow = Pick<Campaign, (typeof COLUMNS)[number]>;

/** A scheduled campaign whose time has come. */
export interface DueCampaign {
  readonly id: string;
  readonly scope: ProjectScope;
}

/** Campaigns of a project that are not deleted. */
function campaignsOf(tables: Kysely<MessagingTables>, { environmentId }: ProjectScope) {
  return tables
    .selectFrom('messaging.campaigns as c')
    .where('environmentId', '=', environmentId)
    .where('deletedAt', 'is', null);
}

/** The campaign of this key; throws `NotFoundError` when none can have it. */
export function campaignNamed(tables: Kysely<MessagingTables>, scope: ProjectScope, campaignKey: string) {
  if (!isCampaignKey(campaignKey)) throw new NotFoundError();
  return campaignsOf(tables, scope).where('campaignKey', '=', campaignKey);
}

/** The campaign of this id if it was sent, with the partition of its deliveries, `2026-03-01`. */
export function sentCampaign(tables: Kysely<MessagingTables>, scope: ProjectScope, id: string) {
  return campaignsOf(tables, scope)
    .where('id', '=', id)
    .where('queuedAt', 'is not', null)
    .select(['id', 'campaignKey', 'name', 'queuedAt'])
    .select([SENT_SUBJECT.as('subject'), SENT_TRANSLATIONS.as('translations')])
    .select(sql<string>`to_char(queued_at at time zone 'UTC', 'YYYY-MM-DD')`.as('queuedOn'))
    .select(sql<number>`jsonb_array_length(c.variants)`.as('variants'))
    .$narrowType<{ queuedAt: Date }>();
}

/** Reads and writes campaigns. Locks need an open transaction, and last as long as it does. */
@Injectable()
export class CampaignRepository {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** @param resendOf see `Campaign.resendOf` */
  async add(
    { environmentId }: ProjectScope,
    draft: NewCampaign,
    now: Date,
    resendOf: string | null = null,
  ): Promise<Campaign> {
    const { rows } = await sql<{ key: string }>`select access.next_key('campaign') as key`.execute(
      this.database.tables(),
    );
    const campaign = new Campaign({ id: newId(), environmentId, campaignKey: rows[0]!.key }, draft, now);
    campaign.resendOf = resendOf;
    this.database.em.persist(campaign);
    return campaign;
  }

  /** Lists campaigns, newest first. */
  list(
    scope: ProjectScope,
    request: PageRequest,
    {
      status,
      topicId,
    }: { readonly status?: CampaignStatus | undefined; readonly topicId?: string | undefined },
  ): Promise<Page<CampaignRow>> {
    return this.database.read(scope, { isList: true }, async () => {
      const campaigns = campaignsOf(this.database.tables(), scope)
        .$if(status !== undefined, (query) => query.where('status', '=', status!))
        .$if(topicId !== undefined, (query) => query.where(sql<boolean>`${topicId}::uuid = any(topic_ids)`));
      return NEWEST_FIRST.page(campaigns.select(COLUMNS), campaigns, request);
    });
  }

  /** The campaign, or `NotFoundError`. */
  named(scope: ProjectScope, campaignKey: string): Promise<Campaign> {
    return this.database.transaction(scope, () => this.#find(scope, campaignKey));
  }

  /** The campaign with this id; null when it was deleted. */
  find(scope: ProjectScope, id: string): Promise<Campaign | null> {
    const where = { environmentId: scope.environmentId, id, deletedAt: null };
    return this.database.transaction(scope, () => this.database.em.findOne(Campaign, where));
  }

  /** Runs `work` with the campaign, locked in a transaction, and the time. Throws `NotFoundError`. */
  whileLocked<T>(
    scope: ProjectScope,
    campaignKey: string,
    work: (campaign: Campaign, now: Date) => Promise<T> | T,
  ): Promise<T> {
    return this.database.transaction(scope, async () => {
      const campaign = await this.#find(scope, campaignKey, { lockMode: LockMode.PESSIMISTIC_WRITE });
      return await work(campaign, this.clock.now());
    });
  }

  /** The campaign with this id, kept from others; null when it is gone. */
  lockById({ environmentId }: ProjectScope, id: string): Promise<Campaign | null> {
    const lockMode = LockMode.PESSIMISTIC_WRITE;
    return this.database.em.findOne(Campaign, { environmentId, id }, { lockMode });
  }

  /** At most `limit` scheduled campaigns of all projects whose time has come, the longest waiting first. */
  async due(limit: number): Promise<DueCampaign[]> {
    const isAny = sql`exists (select 1 from messaging.campaigns where status = 'SCHEDULED' and scheduled_at <= ${present})`;
    if (!(await this.database.holds(isAny))) return [];
    return this.database.system(async () => {
      const { rows } = await sql<ProjectScope & { readonly id: string }>`
        select c.id, e.* from (
          select id, environment_id, scheduled_at from messaging.campaigns
          where status = 'SCHEDULED' and scheduled_at <= ${present} order by scheduled_at limit ${limit}
        ) c join ${environmentScopes} e on e.environment_id = c.environment_id
        order by c.scheduled_at
      `.execute(this.database.tables());
      return rows.map(({ id, ...scope }) => ({ id, scope }));
    });
  }

  /** The campaign if it waits for its time; null when it does not. */
  scheduled(scope: ProjectScope, id: string): Promise<Campaign | null> {
    const where = { environmentId: scope.environmentId, id, status: 'SCHEDULED' } as const;
    return this.database.transaction(scope, () => this.database.em.findOne(Campaign, where));
  }

  /** The same, kept from others; null also when another transaction has it. */
  lockScheduled({ environmentId }: ProjectScope, id: string): Promise<Campaign | null> {
    const lockMode = LockMode.PESSIMISTIC_PARTIAL_WRITE;
    return this.database.em.findOne(Campaign, { environmentId, id, status: 'SCHEDULED' }, { lockMode });
  }

  /** Throws `InvalidStateError` for a campaign that went out once and whose deliveries are no longer kept. */
  async refuseWithoutDeliveries(scope: ProjectScope, { id, status }: Campaign): Promise<void> {
    const day = await keptDay(this.database, scope, 'DELIVERIES');
    const { rows } = await sql`
      select 1 from messaging.campaigns c
      where c.id = ${id} and c.environment_id = ${scope.environmentId} and ${PARTITION} < ${day}::date
    `.execute(this.database.tables());
    if (rows.length === 0) return;
    throw new InvalidStateError('The campaign’s deliveries are no longer kept: send a copy.', status, []);
  }

  /** A campaign whose mails are out stays as a row that nobody sees: their links must go on working. */
  remove(campaign: Campaign, now: Date): void {
    if (campaign.queuedAt === null) this.database.em.remove(campaign);
    else campaign.deletedAt = now;
  }

  async #find(
    { environmentId }: ProjectScope,
    campaignKey: string,
    options: FindOneOptions<Campaign> = {},
  ): Promise<Campaign> {
    if (!isCampaignKey(campaignKey)) throw new NotFoundError();
    const where = { environmentId, campaignKey, deletedAt: null };
    const campaign = await this.database.em.findOne(Campaign, where, options);
    if (campaign === null) throw new NotFoundError();
    return campaign;
  }
}

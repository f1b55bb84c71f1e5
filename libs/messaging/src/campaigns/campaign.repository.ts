import { Injectable } from '@nestjs/common';
import { type FindOneOptions, LockMode } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { Clock, InvalidStateError, newId, NotFoundError, type ProjectScope } from '#kernel';
import { Database, keptDay } from '#platform';
import { PARTITION } from '../deliveries/partition.query.js';
import { Campaign, type CampaignDraft, isCampaignKey } from './campaign.js';

/** Reads and writes campaigns as aggregates. Locks need an open transaction, and last as long as it does. */
@Injectable()
export class CampaignRepository {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  async add({ environmentId }: ProjectScope, draft: CampaignDraft, now: Date): Promise<Campaign> {
    const { rows } = await sql<{ key: string }>`select access.next_key('campaign') as key`.execute(
      this.database.tables(),
    );
    const campaign = new Campaign({ id: newId(), environmentId, campaignKey: rows[0]!.key }, draft, now);
    this.database.em.persist(campaign);
    return campaign;
  }

  /** The campaign, or `NotFoundError`. */
  named(scope: ProjectScope, campaignKey: string): Promise<Campaign> {
    return this.database.transaction(scope, () => this.#find(scope, campaignKey));
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

  /** `InvalidStateError` for one that went out once, when nobody knows any more whom it reached. */
  async refuseLetGo(scope: ProjectScope, { id, status }: Campaign): Promise<void> {
    const day = await keptDay(this.database, scope, 'DELIVERIES');
    const { rows } = await sql`
      select 1 from messaging.campaigns c
      where c.id = ${id} and c.environment_id = ${scope.environmentId} and ${PARTITION} < ${day}::date
    `.execute(this.database.tables());
    if (rows.length === 0) return;
    throw new InvalidStateError('The campaign’s deliveries are no longer kept: send a copy.', status, []);
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

import { Injectable } from '@nestjs/common';
import { LockMode } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { newId, NotFoundError, type ProjectScope } from '#kernel';
import type { Transaction } from '#platform';
import { Campaign, type CampaignDraft, isCampaignKey } from './campaign.js';

/** Reads and writes campaigns as aggregates, in the caller's transaction. */
@Injectable()
export class CampaignRepository {
  async add(scope: ProjectScope, tx: Transaction, draft: CampaignDraft, now: Date): Promise<Campaign> {
    const { rows } = await sql<{ key: string }>`select access.next_key('campaign') as key`.execute(tx.db);
    const campaignKey = rows[0]?.key;
    if (campaignKey === undefined) throw new Error('No campaign key was given.');
    const campaign = new Campaign(
      { id: newId(), environmentId: scope.environmentId, campaignKey },
      draft,
      now,
    );
    tx.em.persist(campaign);
    return campaign;
  }

  /** The campaign, or `NotFoundError`. */
  async named(scope: ProjectScope, tx: Transaction, campaignKey: string): Promise<Campaign> {
    return this.#find(scope, tx, campaignKey);
  }

  /** The campaign, kept from others until the transaction ends, or `NotFoundError`. */
  async lock(scope: ProjectScope, tx: Transaction, campaignKey: string): Promise<Campaign> {
    return this.#find(scope, tx, campaignKey, LockMode.PESSIMISTIC_WRITE);
  }

  /** The same by its id; null when it is gone. */
  lockById(scope: ProjectScope, tx: Transaction, id: string): Promise<Campaign | null> {
    const { environmentId } = scope;
    return tx.em.findOne(Campaign, { environmentId, id }, { lockMode: LockMode.PESSIMISTIC_WRITE });
  }

  /** The campaign as it stands; null when it is gone. */
  byId(scope: ProjectScope, tx: Transaction, id: string): Promise<Campaign | null> {
    return tx.em.findOne(Campaign, { environmentId: scope.environmentId, id, deletedAt: null });
  }

  /** The campaign if it waits for its time, kept from others; null when it does not, or somebody has it. */
  lockScheduled(scope: ProjectScope, tx: Transaction, id: string): Promise<Campaign | null> {
    return tx.em.findOne(
      Campaign,
      { environmentId: scope.environmentId, id, status: 'SCHEDULED' },
      { lockMode: LockMode.PESSIMISTIC_PARTIAL_WRITE },
    );
  }

  /** A campaign whose mails are out stays as a row that nobody sees: their links must go on working. */
  remove(tx: Transaction, campaign: Campaign, now: Date): void {
    if (campaign.queuedAt === null) tx.em.remove(campaign);
    else campaign.deletedAt = now;
  }

  async #find(
    scope: ProjectScope,
    tx: Transaction,
    campaignKey: string,
    lockMode?: LockMode,
  ): Promise<Campaign> {
    if (!isCampaignKey(campaignKey)) throw new NotFoundError();
    const { environmentId } = scope;
    const campaign = await tx.em.findOne(
      Campaign,
      { environmentId, campaignKey, deletedAt: null },
      lockMode === undefined ? {} : { lockMode },
    );
    if (campaign === null) throw new NotFoundError();
    return campaign;
  }
}

import { Injectable } from '@nestjs/common';
import { LockMode } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { newId, NotFoundError, type ProjectScope } from '#kernel';
import type { Transaction } from '#platform';
import { Campaign, type CampaignDraft } from './campaign.js';

/** Reads and writes campaigns as aggregates, in the caller's transaction. */
@Injectable()
export class CampaignRepository {
  async add(scope: ProjectScope, tx: Transaction, draft: CampaignDraft, now: Date): Promise<Campaign> {
    const { rows } = await sql<{ key: string }>`select access.next_key('campaign') as key`.execute(tx.db);
    const campaignKey = rows[0]?.key;
    if (campaignKey === undefined) throw new Error('No campaign key was given.');
    const campaign = new Campaign({ id: newId(), environmentId: scope.environmentId, campaignKey }, draft, now);
    tx.em.persist(campaign);
    return campaign;
  }

  /** The campaign, or `NotFoundError`. */
  async named(scope: ProjectScope, tx: Transaction, campaignKey: string): Promise<Campaign> {
    return found(await tx.em.findOne(Campaign, { environmentId: scope.environmentId, campaignKey }));
  }

  /** The campaign, kept from others until the transaction ends, or `NotFoundError`. */
  async lock(scope: ProjectScope, tx: Transaction, campaignKey: string): Promise<Campaign> {
    return found(
      await tx.em.findOne(
        Campaign,
        { environmentId: scope.environmentId, campaignKey },
        { lockMode: LockMode.PESSIMISTIC_WRITE },
      ),
    );
  }
}

function found(campaign: Campaign | null): Campaign {
  if (campaign === null) throw new NotFoundError();
  return campaign;
}

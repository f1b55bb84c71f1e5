import { Inject, Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import { sentCampaign } from '../../campaigns/campaigns.query.js';
import type { CampaignStatistics } from '../statistics/campaign-statistics.js';
import type { LanguageFigures } from '../statistics/language-figures.query.js';
import { CampaignBreakdowns } from './campaign-breakdowns.service.js';

/** Tells what became of a campaign's mails in each of its languages. */
@Injectable()
export class CampaignLanguagesQuery {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(CampaignBreakdowns) private readonly breakdowns: CampaignBreakdowns,
  ) {}

  /** None without translations, or before it was sent; null while a worker counts those of a large one. */
  async of(
    scope: ProjectScope,
    { campaignId, totalSent }: Pick<CampaignStatistics, 'campaignId' | 'totalSent'>,
  ): Promise<readonly LanguageFigures[] | null> {
    const campaign = await this.database.transaction(scope, () =>
      sentCampaign(this.database.tables(), scope, campaignId).executeTakeFirst(),
    );
    if (campaign === undefined || campaign.translations.length === 0) return [];
    return (await this.breakdowns.of(scope, { ...campaign, totalSent }))?.languages ?? null;
  }
}

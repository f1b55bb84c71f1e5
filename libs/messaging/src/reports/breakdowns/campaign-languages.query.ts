import { Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import { sentCampaign } from '../../campaigns/campaign.repository.js';
import { CampaignStatisticsQuery } from '../statistics/campaign-statistics.query.js';
import type { LanguageFigures } from '../statistics/language-figures.query.js';
import { CampaignBreakdowns } from './campaign-breakdowns.service.js';

export interface CampaignLanguages {
  /** None without translations, or before it was sent. */
  readonly languages: readonly LanguageFigures[];
  /** Null while a worker counts those of a large campaign for the first time. */
  readonly countedAt: Date | null;
}

/** Tells what became of a campaign's mails in each of its languages. */
@Injectable()
export class CampaignLanguagesQuery {
  constructor(
    private readonly database: Database,
    private readonly statistics: CampaignStatisticsQuery,
    private readonly breakdowns: CampaignBreakdowns,
  ) {}

  /** `NotFoundError` without such a campaign. */
  async of(scope: ProjectScope, campaignKey: string): Promise<CampaignLanguages> {
    const { statistics } = await this.statistics.of(scope, campaignKey);
    const { campaignId, totalSent } = statistics;
    const campaign = await this.database.transaction(scope, () =>
      sentCampaign(this.database.tables(), scope, campaignId).executeTakeFirst(),
    );
    const counted = campaign && (await this.breakdowns.of(scope, { ...campaign, totalSent }));
    return { languages: counted?.languages ?? [], countedAt: counted?.countedAt ?? null };
  }
}

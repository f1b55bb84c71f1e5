import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, InvalidStateError, NotFoundError, type ProjectScope } from '#kernel';
import { type Config, CONFIG, Database, LinkTokens } from '#platform';
import { type CampaignStatus, isCampaignKey } from '../../campaigns/campaign.js';

const DAY_MS = 86_400_000;

export interface ReportLink {
  readonly url: string;
  readonly expiresAt: Date;
}

/** The addresses of the pages that show campaigns' reports. Whoever has one may look, until it expires. */
@Injectable()
export class ReportLinks {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(LinkTokens) private readonly tokens: LinkTokens,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Good for `days`. Throws `NotFoundError`, or `InvalidStateError` before the campaign was sent. */
  async make(scope: ProjectScope, campaignKey: string, days: number): Promise<ReportLink> {
    const id = await this.#sentCampaign(scope, campaignKey);
    const expiresAt = new Date(this.clock.now().getTime() + days * DAY_MS);
    const { environmentId } = scope;
    const token = this.tokens.sign({ kind: 'report', environmentId, id, expiresAt });
    return { url: `${this.config.PUBLIC_URL}/r/${token}`, expiresAt };
  }

  #sentCampaign(scope: ProjectScope, campaignKey: string): Promise<string> {
    if (!isCampaignKey(campaignKey)) throw new NotFoundError();
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<{ id: string; status: CampaignStatus; queuedAt: Date | null }>`
        select id, status, queued_at as "queuedAt" from messaging.campaigns
        where environment_id = ${scope.environmentId} and campaign_key = ${campaignKey} and deleted_at is null
      `.execute(db);
      const [campaign] = rows;
      if (campaign === undefined) throw new NotFoundError();
      if (campaign.queuedAt !== null) return campaign.id;
      throw new InvalidStateError(
        `There is a report when the campaign was sent, and it is ${campaign.status}.`,
        campaign.status,
        ['SENT'],
      );
    });
  }
}

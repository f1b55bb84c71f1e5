import { Inject, Injectable } from '@nestjs/common';
import { Clock, InvalidStateError, NotFoundError, type ProjectScope } from '#kernel';
import { type Config, CONFIG, Database, LinkTokens } from '#platform';
import { campaignNamed } from '../../campaigns/campaign.repository.js';

const DAY_MS = 86_400_000;

export interface ReportLink {
  readonly url: string;
  readonly expiresAt: Date;
}

/** The addresses of the pages that show campaigns' reports. Whoever has one may look, until it expires. */
@Injectable()
export class ReportLinks {
  constructor(
    private readonly database: Database,
    private readonly tokens: LinkTokens,
    @Inject(CONFIG) private readonly config: Config,
    private readonly clock: Clock,
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
    return this.database.transaction(scope, async () => {
      const { id, status, queuedAt } = await campaignNamed(this.database.tables(), scope, campaignKey)
        .select(['id', 'status', 'queuedAt'])
        .executeTakeFirstOrThrow(() => new NotFoundError());
      if (queuedAt !== null) return id;
      throw new InvalidStateError(`The campaign has no report while it is ${status}.`, status, ['SENT']);
    });
  }
}

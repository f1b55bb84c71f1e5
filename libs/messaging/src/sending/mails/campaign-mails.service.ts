import { Inject, Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import { Campaign } from '../../campaigns/campaign.js';
import type { CampaignMail } from './campaign-mail.js';
import { CompiledMails } from './compiled-mails.js';
import { MailCompiler } from './mail-compiler.service.js';

const KEPT = 20;

/** Compiles campaigns for sending; a queued one does not change, so it is compiled once a process. */
@Injectable()
export class CampaignMailsService {
  readonly #compiled = new CompiledMails(KEPT);

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(MailCompiler) private readonly compiler: MailCompiler,
  ) {}

  /**
   * A queued campaign, compiled; rejects when it, or its project, is gone. `version` tells the contents apart that a
   * campaign has had.
   */
  ofQueued(scope: ProjectScope, campaignId: string, version: string): Promise<CampaignMail> {
    return this.#compiled.of(`${campaignId}/${version}`, async () => {
      const campaign = await this.#find(scope, campaignId);
      const queuedOn = campaign.queuedAt?.toISOString().slice(0, 10);
      return this.#compile(
        scope,
        campaign,
        queuedOn === undefined ? null : { owner: { campaignId }, queuedOn },
      );
    });
  }

  /** The campaign as it stands, without tracking: for a look at it. */
  async compile(scope: ProjectScope, campaignId: string): Promise<CampaignMail> {
    return this.#compile(scope, await this.#find(scope, campaignId), null);
  }

  #compile(scope: ProjectScope, campaign: Campaign, tracked: Parameters<MailCompiler['compile']>[2]) {
    const { replyTo } = campaign;
    return this.compiler.compile(scope, { kind: 'CAMPAIGN', campaign, content: campaign, replyTo }, tracked);
  }

  #find(scope: ProjectScope, id: string): Promise<Campaign> {
    return this.database.transaction(scope, () =>
      this.database.em.findOneOrFail(Campaign, { environmentId: scope.environmentId, id }),
    );
  }
}

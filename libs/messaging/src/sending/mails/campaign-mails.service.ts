import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import { Campaign } from '../../campaigns/campaign.js';
import { contentIn, translationFor } from '../../campaigns/campaign-content.js';
import type { CampaignMail } from './campaign-mail.js';
import { CompiledMails } from './compiled-mails.js';
import { footerLocaleOf, MailCompiler, type MailLanguage } from './mail-compiler.service.js';

const KEPT_CAMPAIGNS = 100;

/** A campaign as it was queued; `version` tells the contents apart that it has had. */
interface QueuedCampaign {
  readonly scope: ProjectScope;
  readonly campaignId: string;
  readonly version: string;
}

/** Compiles campaigns for sending; a queued one does not change, so each of its translations is compiled once a process. */
@Injectable()
export class CampaignMailsService {
  readonly #compiled = new CompiledMails();
  readonly #queued = new LRUCache<string, Campaign, QueuedCampaign>({
    max: KEPT_CAMPAIGNS,
    fetchMethod: (_key, _stale, { context: { scope, campaignId } }) => this.#find(scope, campaignId),
  });

  constructor(
    private readonly database: Database,
    private readonly compiler: MailCompiler,
  ) {}

  /**
   * A queued campaign in the translation for readers with this language, compiled; rejects when it, or its project, is gone.
   */
  async ofQueued(queued: QueuedCampaign, locale: string | null): Promise<CampaignMail> {
    const { scope, campaignId, version } = queued;
    const key = `${campaignId}/${version}`;
    const campaign = await this.#queued.forceFetch(key, { context: queued });
    const language = languageFor(campaign, locale);
    return this.#compiled.of(`${key}/${language.translation ?? ''}/${language.footerLocale ?? ''}`, () => {
      const queuedOn = campaign.queuedAt?.toISOString().slice(0, 10);
      const tracked = queuedOn === undefined ? null : { owner: { campaignId }, queuedOn };
      return this.#compile(scope, campaign, language, tracked);
    });
  }

  /** The campaign as it stands, without tracking: for a look at it. */
  async compile(
    scope: ProjectScope,
    campaignId: string,
    locale: string | null = null,
  ): Promise<CampaignMail> {
    const campaign = await this.#find(scope, campaignId);
    return this.#compile(scope, campaign, languageFor(campaign, locale), null);
  }

  /** A queued campaign's own mail, when all of its translations can be compiled, too: `ofQueued` has them from then on. */
  async compileAll(scope: ProjectScope, campaignId: string): Promise<CampaignMail> {
    const { audienceAt, translations } = await this.#find(scope, campaignId);
    // As its deliveries are created.
    const queued = { scope, campaignId, version: audienceAt?.toISOString() ?? '' };
    const own = await this.ofQueued(queued, null);
    for (const translation of Object.keys(translations)) await this.ofQueued(queued, translation);
    return own;
  }

  #compile(
    scope: ProjectScope,
    campaign: Campaign,
    language: MailLanguage,
    tracked: Parameters<MailCompiler['compile']>[2],
  ): Promise<CampaignMail> {
    const { fromName, fromEmail, replyTo } = campaign;
    const content = { ...contentIn(campaign, language.translation), fromName, fromEmail };
    const source = { ...language, kind: 'CAMPAIGN', campaign, content, replyTo } as const;
    return this.compiler.compile(scope, source, tracked);
  }

  #find(scope: ProjectScope, id: string): Promise<Campaign> {
    return this.database.transaction(scope, () =>
      this.database.em.findOneOrFail(Campaign, { environmentId: scope.environmentId, id }),
    );
  }
}

function languageFor(campaign: Campaign, locale: string | null): MailLanguage {
  const translation = translationFor(campaign, locale);
  return { translation, footerLocale: footerLocaleOf(locale, translation) };
}

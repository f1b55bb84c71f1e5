import { Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import { AutomationMails } from '../mails/automation-mails.service.js';
import type { CampaignMail } from '../mails/campaign-mail.js';
import { CampaignMailsService } from '../mails/campaign-mails.service.js';
import { footerLocaleOf } from '../mails/mail-compiler.service.js';
import { MailRendering } from '../mails/mail-rendering.service.js';
import { MailReaders } from './mail-readers.service.js';
import { findMailOfLink, type MailOfLink } from '../../deliveries/mail-of-link.query.js';

/** A mail as a page. */
export interface MailView {
  readonly html: string;
  /** BCP 47, of its content. */
  readonly language: string;
  /** The reader's when it was queued; null: not known. */
  readonly locale: string | null;
  /** It is filled in with what is known today, since its link does not say what the mail showed. */
  readonly isOfToday: boolean;
}

/** Shows mails of campaigns and automations as pages. The delivery's id comes from a signed token. */
@Injectable()
export class MailViewService {
  constructor(
    private readonly database: Database,
    private readonly readers: MailReaders,
    private readonly campaigns: CampaignMailsService,
    private readonly automations: AutomationMails,
    private readonly rendering: MailRendering,
  ) {}

  /**
   * The mail as its reader got it, by what its link says that it showed; `sealed` is that part of it. Null when there is no such
   * mail or its reader was erased.
   */
  async render(scope: ProjectScope, deliveryId: string, sealed: string | null): Promise<MailView | null> {
    const mail = await this.database.transaction(scope, () =>
      findMailOfLink(this.database, scope, deliveryId),
    );
    if (mail === null || mail.subscriberId === null) return null;
    const recipient = await this.readers.find(scope, mail.topicIds, mail.subscriberId);
    if (recipient === undefined) return null;
    const compiled = await this.#compiled(scope, mail);
    const { locale, shownAt: date } = mail;
    const one = { deliveryId, recipient, locale, date };
    const { html, isOfToday } = await this.rendering.showAgain(compiled, one, sealed);
    return { html, language: compiled.language, locale, isOfToday };
  }

  #compiled(scope: ProjectScope, mail: MailOfLink): Promise<CampaignMail> {
    const { campaignId, versionId, place, queuedOn, locale } = mail;
    if (campaignId !== null) return this.campaigns.ofQueued({ scope, campaignId, version: queuedOn }, locale);
    if (versionId === null || place === null)
      throw new Error('The mail belongs to neither a campaign nor an automation.');
    const footerLocale = footerLocaleOf(locale, null);
    return this.automations.of(scope, { versionId, place, queuedOn, footerLocale });
  }
}

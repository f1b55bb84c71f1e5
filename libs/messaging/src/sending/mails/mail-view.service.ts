import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { ProjectsQuery } from '#access';
import { type Recipient, RecipientsQuery, SubscribersQuery } from '#audience';
import {
  Clock,
  DomainValidationError,
  type EmailAddress,
  newId,
  NotFoundError,
  type ProjectScope,
} from '#kernel';
import type { PreSendCheck } from '#deliverability';
import { Database } from '#platform';
import { type Campaign, sourceWith } from '../../campaigns/campaign.js';
import { PreSendRejectedError } from '../../campaigns/campaign.errors.js';
import { contentFaultsOf, refuseUnlessVariant, withVariant } from '../../campaigns/campaign-variants.js';
import { CampaignContentsQuery } from '../../campaigns/campaign-contents.query.js';
import { CampaignRepository } from '../../campaigns/campaign.repository.js';
import { PreSendAnalysisService } from '../../campaigns/pre-send-analysis.service.js';
import {
  type CONTENT_PARTS,
  contentFaults,
  contentIn,
  translationFor,
} from '../../content/document/translated-content.js';
import type { MailParts } from '../../content/mail/mail-renderer.js';
import { ContentCompileError, MergeTemplateError } from '../../content/content.errors.js';
import { findMailOfLink, type MailOfLink } from '../../deliveries/linked-mails.service.js';
import type { CampaignMail } from './campaign-mail.js';
import {
  CompiledMailsService,
  type DraftOfMail,
  type MailChoice,
  stepFor,
} from './compiled-mails.service.js';
import { MailRenderingService } from './mail-rendering.service.js';
import { type PreviewLink, PreviewLinksService } from './preview-links.service.js';

const SAMPLE_ADDRESS = 'ada@example.com';
export const SAMPLE_NAME = 'Ada Lovelace';

/** The reader that a campaign's mail is shown for. */
interface PreviewReader {
  /** A subscriber's; null: somebody who does not exist. */
  readonly address: EmailAddress | null;
  /** Null: the subscriber's own. */
  readonly locale: string | null;
  /** Number of the variant; null: the first, where there are any. */
  readonly variant: number | null;
}

/** The content of a campaign as its author is about to change it; what is absent is as it was stored. */
export type PreviewChanges = Partial<
  Pick<
    Campaign,
    | (typeof CONTENT_PARTS)[number]
    | 'fromName'
    | 'translations'
    | 'variants'
    | 'templateKey'
    | 'templateVersion'
  >
>;

/** A campaign's mail as one reader would get it. */
export interface MailPreview extends MailParts {
  readonly previewText: string | null;
  readonly fromEmail: string;
  /** BCP 47, of its content. */
  readonly language: string;
}

/** A campaign's mail, and the locale of its translation; null: the campaign's own content. */
interface TranslatedPreview extends MailPreview {
  readonly translation: string | null;
}

/** A campaign's mail with the content checks that it fails. */
export interface CheckedPreview extends TranslatedPreview {
  readonly checks: readonly PreSendCheck[];
}

/** A content with its mail for a sample reader, for people who look it over. */
export interface ContentPreview {
  readonly name: string;
  /** The sample reader's. */
  readonly reader: string;
  /** BCP 47, of the content itself first and then of its translations. */
  readonly languages: readonly string[];
  /** Their names. */
  readonly variants: readonly string[];
  /** Null with a `fault` where it cannot be made into a mail. */
  readonly mail: MailPreview | null;
  readonly fault: string | null;
}

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

/** Shows mails: of a campaign before it is sent, and of any delivery as a page. */
@Injectable()
export class MailViewService {
  constructor(
    private readonly database: Database,
    private readonly campaigns: CampaignRepository,
    private readonly contents: CampaignContentsQuery,
    private readonly subscribers: SubscribersQuery,
    private readonly recipients: RecipientsQuery,
    private readonly mails: CompiledMailsService,
    private readonly rendering: MailRenderingService,
    private readonly projects: ProjectsQuery,
    private readonly links: PreviewLinksService,
    private readonly analyses: PreSendAnalysisService,
    private readonly clock: Clock,
  ) {}

  /**
   * A campaign's mail as the subscriber would get it, or with sample data. Its links lead nowhere. `NotFoundError` without such a
   * campaign or subscriber; `DomainValidationError` for faults of the content, `PreSendRejectedError` when a merge tag cannot be
   * filled in.
   */
  async preview(
    scope: ProjectScope,
    campaignKey: string,
    reader: PreviewReader,
    changes: PreviewChanges = {},
  ): Promise<CheckedPreview> {
    const campaign = await this.campaigns.named(scope, campaignKey);
    const { id } = campaign;
    const { faults: ofTemplate } = await this.contents.chosen(scope, changes, campaign);
    const ofVariants = contentFaultsOf(changes.variants ?? []);
    const faults = { ...contentFaults(changes), ...ofVariants, ...ofTemplate };
    if (Object.keys(faults).length > 0) throw new DomainValidationError(faults);
    const draft = { ...campaign.copy(), ...changes, ...sourceWith(changes, campaign), id, campaignKey };
    refuseUnlessVariant(draft, reader.variant);
    const filled = await this.contents.filled(scope, draft);
    const mail = await this.#preview(scope, filled, reader);
    const shown = withVariant(filled, reader.variant);
    return { ...mail, checks: await this.analyses.findings(scope, shown, mail.translation) };
  }

  /** A link that shows the campaign as it will be then, good for seven days. `NotFoundError` */
  async previewLink(scope: ProjectScope, campaignKey: string): Promise<PreviewLink> {
    return this.links.to(scope, await this.campaigns.named(scope, campaignKey));
  }

  /**
   * A variant, null being the first, of the campaign of this id in one of its languages, null being its own, for a sample reader;
   * null when it is gone.
   */
  async sample(
    scope: ProjectScope,
    id: string,
    { locale, variant }: MailChoice,
  ): Promise<ContentPreview | null> {
    const campaign = await this.campaigns.find(scope, id);
    const project = await this.projects.ofScope(scope);
    if (campaign === null || project === null) return null;
    const variants = campaign.variants.map(({ name }) => name);
    const shown = { name: campaign.name, reader: SAMPLE_NAME, languages: [project.defaultLocale], variants };
    try {
      const draft = await this.contents.filled(scope, campaign);
      shown.languages.push(...Object.keys(withVariant(draft, variant).translations));
      const mail = await this.#preview(scope, draft, { address: null, locale, variant });
      return { ...shown, mail, fault: null };
    } catch (error) {
      if (error instanceof DomainValidationError)
        return { ...shown, mail: null, fault: Object.values(error.errors).join(' ') };
      if (error instanceof PreSendRejectedError) return { ...shown, mail: null, fault: error.message };
      throw error;
    }
  }

  async #preview(
    scope: ProjectScope,
    varied: DraftOfMail,
    { address, locale, variant }: PreviewReader,
  ): Promise<TranslatedPreview> {
    const draft = withVariant(varied, variant);
    try {
      const own = await this.mails.compileDraft(scope, draft, locale);
      const recipient = await this.#recipientOf(own, address);
      const mail = locale === null ? await this.mails.compileDraft(scope, draft, recipient.locale) : own;
      const reader = { deliveryId: newId(), recipient, locale: locale ?? recipient.locale };
      const one = { ...reader, date: this.clock.now() };
      const translation = translationFor(draft, one.locale);
      const { previewText } = contentIn(draft, translation);
      return {
        ...(await this.rendering.show(mail, one)),
        previewText: previewText === null ? null : await this.rendering.line(mail, previewText, one),
        fromEmail: mail.sender.address,
        language: mail.language,
        translation,
      };
    } catch (error) {
      if (error instanceof MergeTemplateError) throw asRejection(error);
      if (error instanceof ContentCompileError)
        throw new DomainValidationError({ contentJson: `cannot be made into a mail: ${error.message}` });
      throw error;
    }
  }

  async #recipientOf(mail: CampaignMail, address: EmailAddress | null): Promise<Recipient> {
    if (address === null) return this.rendering.sampleRecipient(mail, SAMPLE_ADDRESS);
    const { scope, campaign } = mail;
    const { id } = await this.subscribers.get(scope, address);
    const found = await this.recipients.lookUp(scope, campaign.topicIds, [id], this.clock.now());
    const reader = found.get(id);
    if (reader === undefined) throw new NotFoundError();
    // Not the subscriber's own id: who may read campaigns must not get links into somebody's preferences.
    return { ...reader, subscriberId: newId() };
  }

  /**
   * The mail as its reader got it, by what its link says that it showed; `sealed` is that part of it. Null when there is no such
   * mail or its reader was erased. The delivery's id comes from a signed token.
   */
  async ofDelivery(scope: ProjectScope, deliveryId: string, sealed: string | null): Promise<MailView | null> {
    const mail = await this.database.transaction(scope, () =>
      findMailOfLink(this.database, scope, deliveryId),
    );
    if (mail === null || mail.kind === 'MESSAGE' || mail.subscriberId === null) return null;
    const { subscriberId, topicIds, locale, shownAt: date } = mail;
    const found = await this.recipients.lookUp(scope, topicIds, [subscriberId], this.clock.now());
    const recipient = found.get(subscriberId);
    if (recipient === undefined) return null;
    const compiled = await this.#compiled(scope, mail);
    const event = mail.versionId === null ? null : await this.#eventOf(scope, deliveryId);
    const one = { deliveryId, recipient, locale, date, event };
    const { html, isOfToday } = await this.rendering.showAgain(compiled, one, sealed);
    return { html, language: compiled.language, locale, isOfToday };
  }

  /** Properties of the event that began the run of an automation's mail. */
  #eventOf(scope: ProjectScope, deliveryId: string): Promise<Readonly<Record<string, unknown>> | null> {
    const { environmentId } = scope;
    return this.database.transaction(scope, async () => {
      const { rows } = await sql<{ data: Readonly<Record<string, unknown>> }>`
        select r.data from messaging.deliveries d
        join messaging.automation_run_data r
          on r.run_id = messaging.run_of_step(d.source_id) and r.environment_id = ${environmentId}
        where d.id = ${deliveryId} and d.environment_id = ${environmentId}
      `.execute(this.database.tables());
      return rows[0]?.data ?? null;
    });
  }

  async #compiled(scope: ProjectScope, mail: MailOfLink): Promise<CampaignMail> {
    const { campaignId, versionId, place, queuedOn, locale, enteredAt } = mail;
    if (campaignId !== null) return this.mails.ofQueued({ scope, campaignId, version: queuedOn }, mail);
    if (versionId === null || place === null || enteredAt === null)
      throw new Error('The mail belongs to neither a campaign nor an automation.');
    const [content = null] = await this.mails.contentsOf(scope, [{ versionId, place, enteredAt }]);
    return this.mails.ofStep(scope, stepFor({ versionId, place, queuedOn }, content, locale));
  }
}

function asRejection({ message }: MergeTemplateError): PreSendRejectedError {
  return new PreSendRejectedError([{ code: 'merge-tags', severity: 'CRITICAL', result: 'FAIL', message }]);
}

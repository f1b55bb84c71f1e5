import { Injectable } from '@nestjs/common';
import { type Recipient, RecipientsQuery, SubscribersQuery } from '#audience';
import { Clock, type EmailAddress, NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { FromAddressesService, type MailOrigin } from '../../campaigns/from-addresses.service.js';
import { ContentCompileError, MergeTemplateError } from '../../content/content.errors.js';
import type { Faults } from '../../content/document/content-document.js';
import { contentIn, translationFor } from '../../content/document/translated-content.js';
import {
  type MergeValues,
  projectValues,
  SAMPLE_VALUES,
  subscriberValues,
} from '../../content/merge/merge-values.js';
import { checkedData } from '../../content/merge/template-variables.js';
import { ContentProcessesService, footerOf } from '../../content/processes/content-processes.service.js';
import { revisedContent, type Template } from '../../templates/template.js';
import { TemplateRepository } from '../../templates/template.repository.js';
import {
  type ReviewedTemplate,
  sampleData,
  TemplateReviewsService,
  translatedContent,
} from '../../templates/template-reviews.service.js';
import { MailRenderingService } from './mail-rendering.service.js';
import { type ContentPreview, SAMPLE_NAME } from './mail-view.service.js';
import { type PreviewLink, PreviewLinksService } from './preview-links.service.js';

/** The reader and data that a template is shown with. */
export interface TemplateSample {
  /** Null: the draft. */
  readonly version: number | null;
  readonly data: Readonly<Record<string, unknown>>;
  /** Null: the reader's own. */
  readonly locale: string | null;
  /** A subscriber's, or of somebody of whom no more is known; null: somebody who does not exist. */
  readonly address: EmailAddress | null;
}

/** A template as a mail would show it; null is what its faults keep from being shown. */
export interface TemplatePreview extends Readonly<
  Record<'subject' | 'previewText' | 'html' | 'text', string | null>
> {
  /** Faults of the template by path, and of `data`. */
  readonly faults: Faults;
  /** Pieces that no mail can carry. */
  readonly removed: readonly string[];
}

interface Reader extends Pick<TemplateSample, 'locale'> {
  readonly origin: MailOrigin;
  readonly recipient: Recipient;
}

const NOTHING = { subject: null, previewText: null, html: null, text: null };
const CONFIRM = 'https://example.com/c';

/** Shows templates as the mails that would be made of them. */
@Injectable()
export class TemplatePreviewsService {
  constructor(
    private readonly database: Database,
    private readonly templates: TemplateRepository,
    private readonly reviews: TemplateReviewsService,
    private readonly fromAddresses: FromAddressesService,
    private readonly subscribers: SubscribersQuery,
    private readonly recipients: RecipientsQuery,
    private readonly processes: ContentProcessesService,
    private readonly rendering: MailRenderingService,
    private readonly links: PreviewLinksService,
    private readonly clock: Clock,
  ) {}

  /** A template with a reader's values and data; its personal links lead nowhere. Throws NotFoundError. */
  async of(
    scope: ProjectScope,
    keyOrAlias: string,
    { version, data, locale, address }: TemplateSample,
  ): Promise<TemplatePreview> {
    const template = await this.templates.named(scope, keyOrAlias);
    const reviewed = await this.#reviewed(scope, template, version);
    const checked = checkedData(reviewed.content.variables, data);
    const faults = { ...reviewed.faults, ...checked.faults };
    const origin = await this.#origin(scope);
    const recipient = await this.#reader(scope, address);
    const filled = { ...reviewed, faults, data: checked.data ?? data };
    return this.#shown(scope, template, filled, { origin, recipient, locale: locale ?? recipient.locale });
  }

  /** A link that shows the draft as it will be then, good for seven days. Throws NotFoundError. */
  async link(scope: ProjectScope, keyOrAlias: string): Promise<PreviewLink> {
    return this.links.to(scope, await this.templates.named(scope, keyOrAlias));
  }

  /**
   * The draft of the template of this id in one of its languages, else its own, for a sample reader and with sample data; null when
   * it is gone.
   */
  async sample(scope: ProjectScope, id: string, wanted: string | null): Promise<ContentPreview | null> {
    const template = await this.templates.withId(scope, id);
    if (template === null) return null;
    const reviewed = await this.#reviewed(scope, template, null);
    const origin = await this.#origin(scope);
    const recipient = await this.#reader(scope, null);
    const data = sampleData(reviewed.content.variables, reviewed.found);
    const locale = Object.keys(reviewed.content.translations).find((one) => one === wanted) ?? null;
    const reader = { origin, recipient, locale };
    const { faults, html, ...mail } = await this.#shown(scope, template, { ...reviewed, data }, reader);
    const own = origin.project.defaultLocale;
    const shown = {
      name: template.name,
      reader: SAMPLE_NAME,
      languages: [own, ...Object.keys(reviewed.content.translations)],
      variants: [],
    };
    if (html === null) {
      const fault = Object.entries(faults).map(([path, words]) => `${path} ${words}`);
      return { ...shown, mail: null, fault: fault.join('. ') };
    }
    const { subject, previewText, text } = mail;
    const { name: fromName, address: fromEmail } = origin.sender;
    const parts = { subject: subject ?? '', previewText, html, text: text ?? '' };
    return { ...shown, mail: { ...parts, fromName, fromEmail, language: locale ?? own }, fault: null };
  }

  async #reviewed(
    scope: ProjectScope,
    template: Template,
    version: number | null,
  ): Promise<ReviewedTemplate> {
    const { part, parts } = await this.database.transaction(scope, async () => {
      const written =
        version === null ? template.draft : await this.templates.version(scope, template, version);
      if (written === null) throw new NotFoundError();
      const { templateKey, kind } = template;
      const shown = { templateKey, kind, content: revisedContent(written) };
      return { part: shown, parts: await this.templates.partsOf(scope, shown.content) };
    });
    return this.reviews.of(scope, part, parts);
  }

  async #origin(scope: ProjectScope): Promise<MailOrigin> {
    const origin = await this.fromAddresses.of(scope);
    if (origin === null) throw new NotFoundError();
    return origin;
  }

  async #shown(
    scope: ProjectScope,
    template: Template,
    { content, faults, removed, data }: ReviewedTemplate & Pick<TemplateSample, 'data'>,
    { origin: { project }, recipient, locale }: Reader,
  ): Promise<TemplatePreview> {
    const translated = translatedContent(content);
    const shown = contentIn(translated, translationFor(translated, locale));
    const wording = await this.fromAddresses.wording(scope, locale);
    const footer = footerOf(project, wording);
    const { kind } = template;
    try {
      const sources = await this.processes.compile(scope, {
        content: {
          ...shown,
          language: wording.locale,
          showsFiles: kind === 'MESSAGE' || kind === 'PARTIAL',
        },
        footer: { ...footer, isEmpty: kind !== 'CAMPAIGN' },
        tracking: null,
      });
      const values: MergeValues = {
        ...this.#values(template, recipient),
        project: projectValues(project),
        data,
        reader: {
          locale: locale ?? project.defaultLocale,
          timeZone: recipient.timeZone ?? project.timeZone,
          now: this.clock.now().toISOString(),
        },
      };
      // In the place of a sender's name, which no template has.
      const mailParts = {
        subject: sources.subject,
        fromName: shown.previewText ?? '',
        html: sources.html,
        text: sources.text,
      };
      const { subject, fromName, html, text } = await this.processes.fillIn(scope, mailParts, values);
      const previewText = mailParts.fromName === '' ? null : fromName;
      return { subject, previewText, html, text, faults, removed };
    } catch (error) {
      if (error instanceof MergeTemplateError || error instanceof ContentCompileError)
        return {
          ...NOTHING,
          faults: Object.keys(faults).length > 0 ? faults : { contentJson: error.message },
          removed,
        };
      throw error;
    }
  }

  #values({ name, templateKey, kind }: Template, recipient: Recipient): MergeValues {
    const { links, ...sample } = SAMPLE_VALUES;
    return {
      ...sample,
      subscriber: subscriberValues(recipient),
      custom: recipient.customFields,
      campaign: kind === 'MESSAGE' ? { name: '', key: '' } : { name, key: templateKey },
      links: { ...links, confirm: CONFIRM },
    };
  }

  async #reader(scope: ProjectScope, address: EmailAddress | null): Promise<Recipient> {
    const email = address?.value ?? SAMPLE_VALUES.subscriber.email;
    const sample = await this.rendering.sampleRecipient({ scope, topics: [] }, email);
    if (address === null) return sample;
    const nobody = { ...sample, firstName: null, lastName: null };
    const found = await this.subscribers.get(scope, address).catch((error: unknown) => {
      if (error instanceof NotFoundError) return null;
      throw error;
    });
    if (found === null) return nobody;
    const [reader] = (await this.recipients.lookUp(scope, [], [found.id], this.clock.now())).values();
    return reader ?? nobody;
  }
}

import { Injectable } from '@nestjs/common';
import { type Recipient, RecipientsQuery, SubscribersQuery } from '#audience';
import { Clock, type EmailAddress, NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { FromAddressesService } from '../../campaigns/from-addresses.service.js';
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
import { MailRenderingService } from './mail-rendering.service.js';
import { TemplateReviewsService, translatedContent } from '../../templates/template-reviews.service.js';

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
  /** Of the template by path, and of `data`. */
  readonly faults: Faults;
  /** Pieces that no mail can carry. */
  readonly removed: readonly string[];
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
    private readonly clock: Clock,
  ) {}

  /** A template with a reader's values and data; its personal links lead nowhere. Throws NotFoundError. */
  async of(scope: ProjectScope, keyOrAlias: string, sample: TemplateSample): Promise<TemplatePreview> {
    const { template, part, parts } = await this.database.transaction(scope, async () => {
      const found = await this.templates.named(scope, keyOrAlias);
      const { version } = sample;
      const written = version === null ? found.draft : await this.templates.version(scope, found, version);
      if (written === null) throw new NotFoundError();
      const shown = { templateKey: found.templateKey, kind: found.kind, content: revisedContent(written) };
      return { template: found, part: shown, parts: await this.templates.partsOf(scope, shown.content) };
    });
    const { content, faults, removed } = await this.reviews.of(scope, part, parts);
    const checked = checkedData(content.variables, sample.data);
    const all = { ...faults, ...checked.faults };
    const recipient = await this.#reader(scope, sample.address);
    const locale = sample.locale ?? recipient.locale;
    const translated = translatedContent(content);
    const shown = contentIn(translated, translationFor(translated, locale));
    const origin = await this.fromAddresses.of(scope);
    if (origin === null) throw new NotFoundError();
    const { project } = origin;
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
        data: checked.data ?? sample.data,
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
      return { subject, previewText, html, text, faults: all, removed };
    } catch (error) {
      if (error instanceof MergeTemplateError || error instanceof ContentCompileError)
        return {
          ...NOTHING,
          faults: Object.keys(all).length > 0 ? all : { contentJson: error.message },
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

import type { ReviewedContent } from '#deliverability';
import {
  bodyFaults,
  type DocumentMail,
  type Faults,
  type MailReview,
  reviewMail,
} from '../review/mail-faults.js';
import {
  type CampaignContent,
  compileMail,
  type MailFooter,
  type MailSources,
} from '../mail/campaign-template.js';
import { reviewContent } from '../review/content-review.js';
import type { SampleMail } from '../review/html-part-size.js';
import { mapTexts } from '../merge/map-texts.js';
import { customKeysIn, type WrittenContent } from '../merge/named-fields.js';
import { compileMergeTemplate, type MergeValues } from '../merge/merge-template.js';
import type { LinkTracking } from '../mail/link-rewriting.js';
import { MailRenderer, type RenderedBatch, type RenderInput } from './mail-renderer.js';

interface ContentInput {
  readonly content: CampaignContent;
  readonly footer: MailFooter;
}

const renderer = new MailRenderer();

/** What takes MJML and CSS: as long as its content makes it. */
export const COMPILE_TASKS = {
  compile: ({
    content,
    footer,
    tracking,
  }: ContentInput & { tracking: LinkTracking | null }): Promise<MailSources> =>
    compileMail(content, footer, tracking),
  review: ({
    content,
    footer,
    ...known
  }: ContentInput & { customKeys: readonly string[]; sample: SampleMail }): Promise<ReviewedContent> =>
    reviewContent(content, footer, known),
  reviewMail: (input: {
    readonly mail: DocumentMail;
    readonly footer: MailFooter;
    readonly customKeys: readonly string[];
  }): Promise<MailReview> => reviewMail(input.mail, input.footer, input.customKeys),
};

/** What takes merge tags only. */
export const RENDER_TASKS = {
  bodyFaults: ({ body, customKeys }: { body: unknown; customKeys: readonly string[] }): Faults =>
    bodyFaults(body, customKeys),
  fill: ({ body, values }: { body: unknown; values: MergeValues }): unknown =>
    mapTexts(body, (text) => compileMergeTemplate(text, 'none').render(values)),
  customKeys: (written: WrittenContent): readonly string[] => customKeysIn(written),
  render: (input: RenderInput): RenderedBatch => renderer.render(input),
};

export const TASKS = { ...COMPILE_TASKS, ...RENDER_TASKS };

type Tasks = typeof TASKS;
export type TaskName = keyof Tasks;
export type TaskInput<Name extends TaskName> = Parameters<Tasks[Name]>[0];
export type TaskValue<Name extends TaskName> = Awaited<ReturnType<Tasks[Name]>>;

import { type CampaignContent, compileMail } from '../document/content-compiler.js';
import {
  type DocumentMail,
  reviewContent,
  reviewMail,
  reviewMessage,
  type SampleMail,
} from '../document/content-review.js';
import type { MailFooter } from '../document/mail-footer.js';
import { reviewTemplate, type TemplateInput } from '../document/template-review.js';
import type { LinkTracking } from '../mail/link-tracking.js';
import type { KnownInMessage } from '../merge/merge-review.js';

interface ContentInput {
  readonly content: CampaignContent;
  readonly footer: MailFooter;
}

/** Tasks with MJML and CSS: they take as long as their content makes them. */
export const COMPILE_TASKS = {
  compile: ({ content, footer, tracking }: ContentInput & { tracking: LinkTracking | null }) =>
    compileMail(content, footer, tracking),
  review: ({
    content,
    footer,
    ...known
  }: ContentInput & { customKeys: readonly string[]; sample: SampleMail }) =>
    reviewContent(content, footer, known),
  reviewMail: (input: { mail: DocumentMail; footer: MailFooter; customKeys: readonly string[] }) =>
    reviewMail(input.mail, input.footer, input.customKeys),
  reviewMessage: ({ content, footer, ...known }: ContentInput & KnownInMessage) =>
    reviewMessage(content, footer, known),
  reviewTemplate: (input: TemplateInput) => reviewTemplate(input),
};

export type CompileTasks = typeof COMPILE_TASKS;

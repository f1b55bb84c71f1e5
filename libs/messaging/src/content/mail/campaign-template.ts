import { type CompiledContent, compileContent, type FooterContent } from '../document/content-compiler.js';
import { parseContentDocument } from '../document/content-document.js';
import { ContentCompileError } from '../document/content-compile.errors.js';
import { customKeysIn } from '../merge/named-fields.js';
import { compileMergeTemplate, MergeTemplateError } from '../merge/merge-template.js';
import { shownNames } from '../merge/shown-values.js';
import { type LinkTracking, trackHtml } from './link-rewriting.js';

/** What of a campaign becomes the mail. */
export interface CampaignContent {
  readonly subject: string;
  /** Of the sender, in From; blank or not given: the project's. */
  readonly fromName?: string | null;
  readonly previewText: string | null;
  readonly contentJson: string | null;
  readonly contentText: string | null;
  /** BCP 47; none is claimed where it is not said. */
  readonly language?: string;
}

export type MailFooter = FooterContent;

/** The parts of a mail with their merge tags still in them. */
export interface MailSources extends CompiledContent {
  /** What its tracked links lead to; null when opens and clicks are not tracked. */
  readonly targets: readonly string[] | null;
  /** The keys of the custom fields that its merge tags name. */
  readonly customKeys: readonly string[];
  /** The names of the values that its HTML shows. */
  readonly shows: readonly string[];
}

const LONGEST_PART = 2_000_000;

/** contentJson → HTML and text with their merge tags still in them. Takes what it takes: in a process of its own only. */
export async function compileSources(content: CampaignContent, footer: MailFooter): Promise<CompiledContent> {
  const parsed = content.contentJson === null ? null : parseContentDocument(content.contentJson);
  if (parsed?.errors !== undefined) throw new ContentCompileError(describe(parsed.errors));
  const { contentJson: _json, ...rest } = content;
  const input = { ...rest, document: parsed?.document ?? null, footer };
  const compiled = await compileContent(input).catch((error: unknown) => {
    if (error instanceof MergeTemplateError || error instanceof ContentCompileError) throw error;
    // MJML and juice have no errors of their own for what they cannot read.
    throw new ContentCompileError('its HTML or MJML cannot be read', { cause: error });
  });
  if (Math.max(compiled.html.length, compiled.text.length) > LONGEST_PART)
    throw new ContentCompileError(`it becomes a mail of more than ${LONGEST_PART} characters`);
  return compiled;
}

/** `compileSources`, with tracked links. In a process of its own only. */
export async function compileMail(
  content: CampaignContent,
  footer: MailFooter,
  tracking: LinkTracking | null = null,
): Promise<MailSources> {
  const sources = await compileSources(content, footer);
  const customKeys = customKeysIn({ texts: Object.values(sources), documents: [] });
  const mail = { ...sources, customKeys, targets: null, ...(tracking && trackHtml(sources.html, tracking)) };
  return { ...mail, shows: shownNames(mail.html, compileMergeTemplate(mail.html, 'html')) };
}

function describe(errors: Readonly<Record<string, string>>): string {
  const [[path, fault] = ['contentJson', 'is not valid']] = Object.entries(errors);
  return `${path} ${fault}`;
}

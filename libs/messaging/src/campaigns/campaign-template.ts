import { type CompiledContent, compileContent } from '../content/content-compiler.js';
import { parseContentDocument } from '../content/content-document.js';
import { compileMergeTemplate, type MergeTemplate } from '../content/merge-template.js';
import { type SharedValues, trackHtml } from '../tracking/link-rewriting.js';

/** What of a campaign becomes the mail. */
export interface CampaignContent {
  readonly subject: string;
  readonly previewText: string | null;
  readonly contentJson: string | null;
  readonly contentText: string | null;
}

export interface MailFooter {
  readonly senderName: string;
  readonly postalAddress: string;
}

/** A campaign's mail, compiled once; each recipient only fills its slots. */
export interface CampaignTemplate {
  readonly subject: MergeTemplate;
  readonly html: MergeTemplate;
  readonly text: MergeTemplate;
  /** What its tracked links lead to; null when opens and clicks are not tracked. */
  readonly targets: readonly string[] | null;
}

/** With it the links of a mail lead past `baseUrl`, and its HTML has an open pixel. */
export interface TrackingOptions {
  readonly baseUrl: string;
  readonly shared: SharedValues;
}

/** contentJson → HTML and text with their merge tags still in them. */
export function compileSources(content: CampaignContent, footer: MailFooter): Promise<CompiledContent> {
  const parsed = content.contentJson === null ? null : parseContentDocument(content.contentJson);
  if (parsed !== null && 'errors' in parsed) throw new Error('Stored content is not valid.');
  return compileContent({
    subject: content.subject,
    previewText: content.previewText,
    document: parsed?.document ?? null,
    contentText: content.contentText,
    footer,
  });
}

/** Throws `MergeTemplateError` when a merge tag cannot be parsed; a campaign that passed pre-send has none. */
export async function compileCampaign(
  content: CampaignContent,
  footer: MailFooter,
  tracking: TrackingOptions | null = null,
): Promise<CampaignTemplate> {
  const sources = await compileSources(content, footer);
  const tracked = tracking === null ? null : trackHtml(sources.html, tracking.baseUrl, tracking.shared);
  return {
    subject: compileMergeTemplate(sources.subject, 'header'),
    html: compileMergeTemplate(tracked?.html ?? sources.html, 'html'),
    text: compileMergeTemplate(sources.text, 'none'),
    targets: tracked?.targets ?? null,
  };
}

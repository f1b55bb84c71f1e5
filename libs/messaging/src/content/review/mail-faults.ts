import { type CampaignContent, compileSources, type MailFooter } from '../mail/campaign-template.js';
import { ContentCompileError } from '../document/content-compile.errors.js';
import { parseContentDocument } from '../document/content-document.js';
import { authoredLinks, isEmptyContent, linkFault } from '../document/content-links.js';
import { mapTexts } from '../merge/map-texts.js';
import { reviewMergeTags } from '../merge/merge-review.js';
import { MergeTemplateError } from '../merge/merge-template.js';
import { type ReadableText, readableText } from './readable-text.js';

/** What an author wrote for a mail whose body is a document. */
export type DocumentMail = CampaignContent & { readonly contentJson: string };

export type Faults = Readonly<Record<string, string>>;

export interface MailReview {
  /** Every fault by its path inside of the config. */
  readonly faults: Faults;
  /** As a campaign's: see `RemovedContent`. */
  readonly removed: readonly string[];
}

/** The faults of the content, and what no mail can carry of it. Takes what it takes: in a process of its own only. */
export async function reviewMail(
  mail: DocumentMail,
  footer: MailFooter,
  customKeys: readonly string[],
): Promise<MailReview> {
  const inParts = partFaults(mail, customKeys);
  const withFaults = (faults: Faults, removed: readonly string[] = []) => {
    return { faults: { ...inParts, ...faults }, removed };
  };
  const parsed = parseContentDocument(mail.contentJson);
  if (parsed.errors !== undefined) return withFaults(parsed.errors);
  try {
    const bad = authoredLinks(parsed.document).find((url) => linkFault(url) !== null);
    if (bad !== undefined) return withFaults({ contentJson: `has a link that ${linkFault(bad) ?? ''}` });
    const { html, text, removed } = await compileSources(soundParts(mail, inParts), footer);
    if (!('contentText' in inParts) && isEmptyContent(html, text))
      return withFaults({ contentJson: 'is empty' }, removed);
    const inDocument = {
      ...sightFaults(await readableText(html)),
      ...tagFaults('contentJson', html, customKeys),
    };
    return withFaults(inDocument, removed);
  } catch (error) {
    if (error instanceof MergeTemplateError || error instanceof ContentCompileError)
      return withFaults({ contentJson: `cannot be made into a mail: ${error.message}` });
    throw error;
  }
}

/** What the colours and style sheets of the HTML make of it. */
function sightFaults(readable: ReadableText | null): Faults {
  const [words] = readable?.unreadable ?? [];
  if (words !== undefined)
    return { contentJson: `has text that nobody can read on what is behind it: ${words}` };
  if (readable?.showsUnsubscribeLink === false)
    return { contentJson: 'has no unsubscribe link that a reader can see' };
  return {};
}

/** What is wrong with the merge tags beside the document. */
function partFaults(
  { subject, fromName, previewText, contentText }: DocumentMail,
  customKeys: readonly string[],
): Faults {
  return {
    ...tagFaults('subject', subject, customKeys),
    ...tagFaults('fromName', fromName ?? '', customKeys),
    ...tagFaults('previewText', previewText ?? '', customKeys),
    ...tagFaults('contentText', contentText ?? '', customKeys),
  };
}

/** The HTML shows subject and preview too: what is wrong with them is told of them alone. */
function soundParts(mail: DocumentMail, inParts: Faults): DocumentMail {
  return {
    ...mail,
    subject: 'subject' in inParts ? '' : mail.subject,
    previewText: 'previewText' in inParts ? null : mail.previewText,
    contentText: 'contentText' in inParts ? null : mail.contentText,
  };
}

/** What is wrong with the merge tags in a webhook's body, by the path of the text. In a process of its own only. */
export function bodyFaults(body: unknown, customKeys: readonly string[]): Faults {
  const faults: Record<string, string> = {};
  mapTexts(body, (text, path) => {
    Object.assign(faults, tagFaults(`body${path}`, text, customKeys));
    return text;
  });
  return faults;
}

function tagFaults(part: string, source: string, customKeys: readonly string[]): Faults {
  const tags = reviewMergeTags(source, customKeys);
  if (tags.unreadable !== null) return { [part]: `has a merge tag that is wrong: ${tags.unreadable}` };
  const [unknown] = tags.unknown;
  if (unknown !== undefined) return { [part]: `has {{ ${unknown} }}, which is not known` };
  if (tags.trialFault === null) return {};
  return { [part]: `has merge tags that cannot be filled in: ${tags.trialFault}` };
}

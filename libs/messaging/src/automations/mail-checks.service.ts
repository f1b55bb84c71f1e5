import { Inject, Injectable } from '@nestjs/common';
import { type Project, ProjectsQuery } from '#access';
import { CustomFieldsQuery } from '#audience';
import type { ProjectScope } from '#kernel';
import { compileSources } from '../campaigns/campaign-template.js';
import { parseContentDocument } from '../content/content-document.js';
import { ContentCompileError } from '../content/content-inspection.js';
import { authoredLinks, isEmptyContent, linkFault } from '../content/content-links.js';
import { reviewMergeTags } from '../content/merge-review.js';
import { MergeTemplateError } from '../content/merge-template.js';
import type { EmailConfig } from './graph/node-config.js';
import { bodyTexts } from './webhooks/webhook-message.js';

type Faults = Readonly<Record<string, string>>;

/** What mails of this project may hold. */
export interface MailRules {
  readonly project: Project;
  readonly customKeys: readonly string[];
}

/** Looks at the mails of an automation before anybody gets them. */
@Injectable()
export class MailChecks {
  constructor(
    @Inject(ProjectsQuery) private readonly projects: ProjectsQuery,
    @Inject(CustomFieldsQuery) private readonly customFields: CustomFieldsQuery,
  ) {}

  async rules(scope: ProjectScope): Promise<MailRules> {
    const project = await this.projects.ofScope(scope);
    if (project === null) throw new Error('The project of this scope is gone.');
    const definitions = await this.customFields.definitions(scope);
    return { project, customKeys: definitions.map(({ key }) => key) };
  }

  /** Every fault of the content by its path inside of the config. */
  async faults(mail: EmailConfig, { project, customKeys }: MailRules): Promise<Faults> {
    const inParts = partFaults(mail, customKeys);
    const parsed = parseContentDocument(mail.contentJson);
    if (parsed.errors !== undefined) return { ...inParts, ...parsed.errors };
    try {
      const bad = authoredLinks(parsed.document).find((url) => linkFault(url) !== null);
      if (bad !== undefined) return { ...inParts, contentJson: `has a link that ${linkFault(bad) ?? ''}` };
      const { html, text } = await compileSources(soundParts(mail, inParts), project);
      if (!('contentText' in inParts) && isEmptyContent(html, text))
        return { ...inParts, contentJson: 'is empty' };
      return { ...inParts, ...tagFaults('contentJson', html, customKeys) };
    } catch (error) {
      if (error instanceof MergeTemplateError || error instanceof ContentCompileError)
        return { ...inParts, contentJson: `cannot be made into a mail: ${error.message}` };
      throw error;
    }
  }
}

/** What is wrong with the merge tags beside the document. */
function partFaults(
  { subject, previewText, contentText }: EmailConfig,
  customKeys: readonly string[],
): Faults {
  return {
    ...tagFaults('subject', subject, customKeys),
    ...tagFaults('previewText', previewText ?? '', customKeys),
    ...tagFaults('contentText', contentText ?? '', customKeys),
  };
}

/** The HTML shows subject and preview too: what is wrong with them is told of them alone. */
function soundParts(mail: EmailConfig, inParts: Faults): EmailConfig {
  return {
    ...mail,
    subject: 'subject' in inParts ? '' : mail.subject,
    previewText: 'previewText' in inParts ? null : mail.previewText,
    contentText: 'contentText' in inParts ? null : mail.contentText,
  };
}

/** What is wrong with the merge tags in a webhook's body, by the path of the text. */
export function bodyFaults(body: unknown, customKeys: readonly string[]): Faults {
  return Object.assign(
    {},
    ...bodyTexts(body).map(([path, text]) => tagFaults(`body${path}`, text, customKeys)),
  ) as Faults;
}

function tagFaults(part: string, source: string, customKeys: readonly string[]): Faults {
  const tags = reviewMergeTags(source, customKeys);
  if (tags.unreadable !== null) return { [part]: `has a merge tag that is wrong: ${tags.unreadable}` };
  const [unknown] = tags.unknown;
  if (unknown !== undefined) return { [part]: `has {{ ${unknown} }}, which is not known` };
  if (tags.trialFault === null) return {};
  return { [part]: `has merge tags that cannot be filled in: ${tags.trialFault}` };
}

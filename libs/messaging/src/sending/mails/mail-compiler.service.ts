import { Inject, Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { type CampaignContent, type MailFooter, plainPartsOf } from '../../content/mail/campaign-template.js';
import type { Sender } from '../../campaigns/senders/senders.service.js';
import { ContentProcesses, footerOf } from '../../content/processes/content-processes.service.js';
import { hashOf } from '../../content/processes/kept-results.js';
import { compileMimeSkeleton } from '../../content/mime/mime-message.js';
import type { LinkTracking } from '../../content/mail/link-rewriting.js';
import type { CampaignMail } from './campaign-mail.js';

/** Who sends it and how. */
interface MailSurroundings {
  readonly project: MailFooter;
  readonly sender: Sender;
  /** Null where answers go to the sender. */
  readonly replyTo?: string | null;
  readonly tracking: LinkTracking | null;
}

/** Makes of a campaign's content, or an automation's, what all its mails have in common. */
@Injectable()
export class MailCompiler {
  constructor(@Inject(ContentProcesses) private readonly processes: ContentProcesses) {}

  /** @throws {MergeTemplateError} @throws {ContentCompileError} */
  async compile(
    scope: ProjectScope,
    { subject, previewText, contentJson, contentText }: CampaignContent,
    { project, sender, replyTo = null, tracking }: MailSurroundings,
  ): Promise<Pick<CampaignMail, 'template' | 'skeleton'>> {
    const content = { subject, previewText, contentJson, contentText };
    const sources = await this.processes.compile(scope, { content, footer: footerOf(project), tracking });
    const plain = plainPartsOf(sources);
    const { html, text } = plain ?? { html: null, text: null };
    const { targets, ...parts } = sources;
    return {
      template: { parts: { ...parts, key: hashOf(parts) }, plain, targets },
      skeleton: compileMimeSkeleton({ from: sender, replyTo, headers: [], html, text }),
    };
  }
}

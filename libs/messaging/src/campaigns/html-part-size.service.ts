import { Inject, Injectable } from '@nestjs/common';
import { newId, type ProjectScope } from '#kernel';
import { type Config, CONFIG } from '#platform';
import { compileBody } from '../content/body-encoding.js';
import { compileMergeTemplate, MergeTemplateError, type MergeValues } from '../content/merge-template.js';
import { SAMPLE_VALUES } from '../content/merge-trial.js';
import { MailLinkMaker } from '../deliveries/mail-links.js';
import { type SharedValues, trackHtml } from '../tracking/link-rewriting.js';

/** Tells how large the HTML part of a campaign's mails is when it is sent. */
@Injectable()
export class HtmlPartSize {
  constructor(
    @Inject(MailLinkMaker) private readonly links: MailLinkMaker,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * Bytes of the part in its transfer encoding, with tracked links and pixel, filled in for a reader who does not exist.
   * Of a template that cannot be filled in, its own.
   */
  of(scope: ProjectScope, html: string, known: SharedValues & Pick<MergeValues, 'custom'>): number {
    const { PUBLIC_URL, TRACKING } = this.config;
    try {
      const tracked = TRACKING ? trackHtml(html, PUBLIC_URL, known) : { html, targets: [] };
      const body = compileBody(compileMergeTemplate(tracked.html, 'html'));
      const { content } = body.build({
        ...SAMPLE_VALUES,
        ...known,
        ...this.#links(scope, tracked.targets.length),
      });
      return content.reduce((size, { length }) => size + length, 0);
    } catch (error) {
      if (error instanceof MergeTemplateError) return Buffer.byteLength(html);
      throw error;
    }
  }

  #links(scope: ProjectScope, targets: number): Pick<MergeValues, 'links' | 'tracking'> {
    const deliveryId = newId();
    const { environmentId } = scope;
    return {
      links: this.links.ofDelivery(scope, deliveryId, newId()),
      tracking: this.links.tracking({ environmentId, linkSet: 1, deliveryId }, targets),
    };
  }
}

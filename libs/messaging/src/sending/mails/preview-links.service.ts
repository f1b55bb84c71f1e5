import { Inject, Injectable } from '@nestjs/common';
import { Clock, type ProjectScope } from '#kernel';
import { type Config, CONFIG, LinkTokens } from '#platform';

const DAYS = 7;
const DAY_MS = 86_400_000;

/** A link that shows a campaign or a template to everybody who has it. */
export interface PreviewLink {
  readonly url: string;
  readonly expiresAt: Date;
}

/** Makes links to the page that shows a content; they cannot be taken back. */
@Injectable()
export class PreviewLinksService {
  constructor(
    private readonly tokens: LinkTokens,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** To the campaign or template of this id. */
  to({ environmentId }: ProjectScope, { id }: { readonly id: string }): PreviewLink {
    const expiresAt = new Date(this.clock.now().getTime() + DAYS * DAY_MS);
    const token = this.tokens.sign({ kind: 'preview', environmentId, id, expiresAt });
    return { url: `${this.config.PUBLIC_URL}/d/${token}`, expiresAt };
  }
}

import { Inject, Injectable } from '@nestjs/common';
import { type Config, CONFIG, LinkTokens } from '#platform';
import type { Relay } from './relay.js';

/** The addresses to which providers post their events: each is one relay's, until it is rotated. */
@Injectable()
export class FeedbackAddresses {
  constructor(
    @Inject(LinkTokens) private readonly tokens: LinkTokens,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  addressOf({ kind, environmentId, feedbackId }: Relay): string {
    const token = this.tokens.sign({ kind: 'feedback', environmentId, id: feedbackId, expiresAt: null });
    const path = kind === 'SMTP' ? 'generic' : kind.toLowerCase();
    return `${this.config.PUBLIC_URL}/feedback/${path}/${token}`;
  }
}

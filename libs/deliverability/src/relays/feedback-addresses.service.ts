import { Inject, Injectable } from '@nestjs/common';
import { type Config, CONFIG, LinkTokens } from '#platform';
import type { Relay } from './relay.js';
import type { RelayKind } from './kinds/kinds.js';

/** The addresses to which providers post their events: each is one relay's, until it is rotated. */
@Injectable()
export class FeedbackAddresses {
  constructor(
    private readonly tokens: LinkTokens,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  addressOf({ kind, environmentId, feedbackId }: Relay): string {
    const token = this.tokens.sign({ kind: 'feedback', environmentId, id: feedbackId, expiresAt: null });
    return `${this.config.PUBLIC_URL}/feedback/${this.pathOf(kind)}/${token}`;
  }

  /** The kind, as addresses have it. */
  pathOf(kind: RelayKind): string {
    return kind === 'SMTP' ? 'generic' : kind.toLowerCase();
  }

  /** What the token of an address says; null when it is none of ours. */
  read(token: string): { readonly environmentId: number; readonly feedbackId: string } | null {
    const claims = this.tokens.verify(token, 'feedback');
    return claims && { environmentId: claims.environmentId, feedbackId: claims.id };
  }
}

import { Inject, Injectable } from '@nestjs/common';
import { type TrackingClaims, TrackingTokens } from '#platform';
import { LinkSets } from './link-sets.service.js';
import { TrackingRecorder, type TrackedRequest } from './tracking-recorder.service.js';

/** Answers for pixels and tracked links. Nothing is looked up before a token's MAC holds. */
@Injectable()
export class TrackedLinks {
  constructor(
    @Inject(TrackingTokens) private readonly tokens: TrackingTokens,
    @Inject(LinkSets) private readonly linkSets: LinkSets,
    @Inject(TrackingRecorder) private readonly recorder: TrackingRecorder,
  ) {}

  /** Takes an open down; false when the token is not one of a pixel of ours. */
  open(token: string, request: Omit<TrackedRequest, 'claims'>): boolean {
    const claims = this.tokens.verify(token);
    if (claims === null || claims.place !== 0) return false;
    this.recorder.record({ claims, ...request });
    return true;
  }

  /**
   * Where a link leads, with the click taken down; null when the token is not one of a link of ours. At once but for
   * the first click of a campaign's mails in this process, which asks the database where they lead.
   */
  follow(token: string, request: Omit<TrackedRequest, 'claims'>): string | null | Promise<string | null> {
    const claims = this.tokens.verify(token);
    if (claims === null || claims.place === 0) return null;
    const urls = this.linkSets.atHand(claims)?.urls;
    if (urls !== undefined) return this.#followTo(urls, claims, request);
    return this.linkSets
      .find(claims)
      .then((set) => (set === null ? null : this.#followTo(set.urls, claims, request)));
  }

  /** As `follow`, if this process knows where the link leads; else null. */
  followAtOnce(token: string, request: Omit<TrackedRequest, 'claims'>): string | null {
    const claims = this.tokens.verify(token);
    const urls = claims === null || claims.place === 0 ? undefined : this.linkSets.atHand(claims)?.urls;
    return claims === null || urls === undefined ? null : this.#followTo(urls, claims, request);
  }

  #followTo(
    urls: readonly string[],
    claims: TrackingClaims,
    request: Omit<TrackedRequest, 'claims'>,
  ): string | null {
    const url = urls[claims.place - 1] ?? null;
    if (url !== null) this.recorder.record({ claims, ...request });
    return url;
  }
}

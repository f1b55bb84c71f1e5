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
  open(token: string, request: TrackedRequest): boolean {
    const claims = this.tokens.verify(token);
    if (claims === null || claims.place !== 0) return false;
    this.recorder.record(claims, request);
    return true;
  }

  /**
   * Where a link leads, with the click taken down; null when the token is not one of a link of ours. The first click of a
   * campaign's mails in this process asks the database where they lead.
   */
  async follow(token: string, request: TrackedRequest): Promise<string | null> {
    const claims = this.tokens.verify(token);
    if (claims === null || claims.place === 0) return null;
    return this.#followTo((await this.linkSets.find(claims))?.urls, claims, request);
  }

  /** As `follow`, if this process knows where the link leads; else null. */
  followAtOnce(token: string, request: TrackedRequest): string | null {
    const claims = this.tokens.verify(token);
    return claims && this.#followTo(this.linkSets.atHand(claims)?.urls, claims, request);
  }

  #followTo(
    urls: readonly string[] | undefined,
    claims: TrackingClaims,
    request: TrackedRequest,
  ): string | null {
    const url = urls?.[claims.place - 1];
    if (url === undefined) return null;
    this.recorder.record(claims, request);
    return url;
  }
}

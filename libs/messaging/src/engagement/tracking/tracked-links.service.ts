import { Injectable } from '@nestjs/common';
import { environmentIdOf, linkSetOf, placeOf, trackingClaimsOf, TrackingTokens } from '#platform';
import { LinkSets } from './link-sets.service.js';
import { TrackingRecorder, type TrackedRequest } from './tracking-recorder.service.js';

/** Answers for pixels and tracked links. Nothing is looked up before a token's MAC holds. */
@Injectable()
export class TrackedLinks {
  constructor(
    private readonly tokens: TrackingTokens,
    private readonly linkSets: LinkSets,
    private readonly recorder: TrackingRecorder,
  ) {}

  /** Takes an open down; false when the token is not one of a pixel of ours. */
  open(token: string, request: TrackedRequest): boolean {
    const claims = this.tokens.verifyBytes(token);
    if (claims === null || placeOf(claims) !== 0) return false;
    this.recorder.record(claims, request);
    return true;
  }

  /** Where a link leads, with the click taken down; null when the token is not one of a link of ours. */
  async follow(token: string, request: TrackedRequest): Promise<string | null> {
    const verified = this.tokens.verifyBytes(token);
    if (verified === null) return null;
    // While the database is asked, others are verified in its place.
    const claims = Buffer.from(verified);
    const set = await this.linkSets.find(trackingClaimsOf(claims));
    return set === null ? null : this.#followTo(set.urls, claims, request);
  }

  /** The same without asking the database; null also where this process does not know yet where the link leads. */
  followAtOnce(token: string, request: TrackedRequest): string | null {
    const claims = this.tokens.verifyBytes(token);
    if (claims === null) return null;
    const set = this.linkSets.atHand({ environmentId: environmentIdOf(claims), linkSet: linkSetOf(claims) });
    return set === undefined ? null : this.#followTo(set.urls, claims, request);
  }

  #followTo(urls: readonly string[], claims: Buffer, request: TrackedRequest): string | null {
    const place = placeOf(claims);
    const url = place === 0 ? undefined : urls[place - 1];
    if (url === undefined) return null;
    this.recorder.record(claims, request);
    return url;
  }
}

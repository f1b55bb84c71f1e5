import { Inject, Injectable } from '@nestjs/common';
import {
  BrokenSigningKeyError,
  type DomainWarmUp,
  isAtOrBelow,
  kindRules,
  type OwnRelay,
  recordsOfRelay,
  type SendingIdentity,
  SendingDomainsQuery,
  SigningKeyring,
  warmUpDay,
} from '#deliverability';
import { Clock, type ProjectScope } from '#kernel';
import { type Config, CONFIG, UnreadableSecretError } from '#platform';
import type { SendingPolicy } from './sending-policy.js';

const UNSIGNED: SendingPolicy = { kind: 'open', signing: null, returnPathHost: null, warmUp: null };

/** Tells how a project's mail may leave: asked anew for each batch, so that a rotated key or a lost domain counts. */
@Injectable()
export class SendingPolicies {
  constructor(
    private readonly domains: SendingDomainsQuery,
    private readonly keyring: SigningKeyring,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Of mail whose From is at `senderDomain`, by a relay of the project's own or (undefined) the installation's. */
  async of(scope: ProjectScope, senderDomain: string, relay: OwnRelay | undefined): Promise<SendingPolicy> {
    try {
      const identity = await this.domains.identity(scope);
      if (identity !== null && mayCarry(identity, senderDomain))
        return this.#ofVerified(scope, identity, relay);
      // The test environment's mail does not leave the house.
      const needsDomain = scope.environment === 'LIVE' && this.config.REQUIRE_VERIFIED_DOMAIN;
      return needsDomain ? { kind: 'closed' } : UNSIGNED;
    } catch (error) {
      if (error instanceof BrokenSigningKeyError) return { kind: 'broken', fault: error.message };
      if (error instanceof UnreadableSecretError)
        return { kind: 'broken', fault: 'The DKIM keys cannot be decrypted.' };
      throw error;
    }
  }

  #ofVerified(scope: ProjectScope, identity: SendingIdentity, relay: OwnRelay | undefined): SendingPolicy {
    const { domainName: domain, keys } = identity;
    const records = relay === undefined ? null : recordsOfRelay(relay);
    // Where the relay has bounces come to itself, the domain needs no MX record for them.
    const returnPathHost = records?.includes('MX') === false ? null : identity.returnPathHost;
    const warmUp = this.#warmUpOf(scope, identity);
    const isOurs = records === null ? this.config.DKIM_SIGNING !== 'relay' : records.includes('DKIM');
    if (!isOurs) return { kind: 'open', signing: null, returnPathHost, warmUp };
    if (keys.length === 0) return { kind: 'broken', fault: `${domain} has no DKIM key.` };
    const replaced = relay === undefined ? [] : kindRules(relay.kind).replacedHeaders;
    const signing = { domain, keys: keys.map((key) => this.keyring.keyOf(key)), replaced };
    return { kind: 'open', signing, returnPathHost, warmUp };
  }

  #warmUpOf({ environment }: ProjectScope, { domainId, verifiedAt }: SendingIdentity): DomainWarmUp | null {
    if (environment !== 'LIVE' || verifiedAt === null) return null;
    const day = warmUpDay(verifiedAt, this.clock.now());
    return day === null ? null : { domainId, day };
  }
}

const mayCarry = ({ verified, sendingAllowed, domainName }: SendingIdentity, senderDomain: string): boolean =>
  verified && sendingAllowed && isAtOrBelow(senderDomain, domainName);

import { Inject, Injectable } from '@nestjs/common';
import {
  BrokenSigningKeyError,
  isAtOrBelow,
  type SendingIdentity,
  SendingIdentityQuery,
  SigningKeyring,
} from '#deliverability';
import type { ProjectScope } from '#kernel';
import { type Config, CONFIG, UnreadableSecretError } from '#platform';
import type { MailDeparture } from './mail-departure.js';

const UNSIGNED: MailDeparture = { kind: 'open', signing: null, returnPathHost: null };

/** Tells how a project's mail may leave: asked anew for each batch, so that a rotated key or a lost domain counts. */
@Injectable()
export class MailDepartures {
  constructor(
    @Inject(SendingIdentityQuery) private readonly identities: SendingIdentityQuery,
    @Inject(SigningKeyring) private readonly keyring: SigningKeyring,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Of mail whose From is at `senderDomain`. */
  async of(scope: ProjectScope, senderDomain: string): Promise<MailDeparture> {
    try {
      const identity = await this.identities.ofScope(scope);
      if (identity !== null && mayCarry(identity, senderDomain)) return this.#ofVerified(identity);
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

  #ofVerified({ domainName: domain, returnPathHost, keys }: SendingIdentity): MailDeparture {
    if (this.config.DKIM_SIGNING === 'relay') return { kind: 'open', signing: null, returnPathHost };
    if (keys.length === 0) return { kind: 'broken', fault: `${domain} has no DKIM key.` };
    const signing = { domain, keys: keys.map((key) => this.keyring.keyOf(key)) };
    return { kind: 'open', signing, returnPathHost };
  }
}

const mayCarry = ({ verified, sendingAllowed, domainName }: SendingIdentity, senderDomain: string): boolean =>
  verified && sendingAllowed && isAtOrBelow(senderDomain, domainName);

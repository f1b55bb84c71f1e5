import {
  BrokenSigningKeyError,
  type DkimIdentity,
  DkimSigner,
  type DomainWarmUp,
  isAtOrBelow,
  kindRules,
  type OwnRelay,
  recordsOfRelay,
  ReturnPaths,
  type SendingIdentity,
  SendingDomainsQuery,
  SigningKeyring,
  warmUpDay,
} from '#deliverability';
import { Inject, Injectable } from '@nestjs/common';
import { Clock, type MailBody, type ProjectScope } from '#kernel';
import { type Config, CONFIG, describeError, UnreadableSecretError } from '#platform';
import { type OutgoingMail, streamOf } from '../../deliveries/delivery.js';
import { misconfigured, postponed } from '../delivery-outcome.js';
import type { DeliveryWork, PreparedDelivery } from '../delivery-work.js';

/** The conditions under which a sender's mail may leave now. */
export type SendingPolicy =
  | {
      readonly kind: 'open';
      /** Null where the relay signs, or nobody does. */
      readonly signing: DkimIdentity | null;
      /** The host of the return path (VERP); null: bounces go to the sender's address. */
      readonly returnPathHost: string | null;
      /** The day of its warm-up that a new domain is on. */
      readonly warmUp: DomainWarmUp | null;
    }
  /** The sender's domain is not verified, or must not send now. */
  | { readonly kind: 'closed' }
  /** It cannot be signed as it must, or its content lost a custom field. */
  | { readonly kind: 'broken'; readonly fault: string };

/** Null where bounces go to the sender's address, or nothing leaves. */
export function returnPathHostOf(policy: SendingPolicy): string | null {
  return policy.kind === 'open' ? policy.returnPathHost : null;
}

const UNSIGNED: SendingPolicy = { kind: 'open', signing: null, returnPathHost: null, warmUp: null };

const LOOK_AGAIN_MS = 15 * 60_000;
/** A domain that has not come back by then is not waited for: a mail is given up after as long. */
const GIVEN_UP_MS = 48 * 3_600_000;

/** The last hand on a composed mail: the policy of its sender, its return path and its signatures. */
@Injectable()
export class MailSigningService {
  constructor(
    private readonly domains: SendingDomainsQuery,
    private readonly keyring: SigningKeyring,
    private readonly signer: DkimSigner,
    private readonly returnPaths: ReturnPaths,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * The policy of mail whose From is at `senderDomain`, by a relay of the project's own or (undefined) the installation's. Asked
   * for anew for each batch, so that a rotated key or a lost domain counts.
   */
  async policyOf(
    scope: ProjectScope,
    senderDomain: string,
    relay: OwnRelay | undefined,
  ): Promise<SendingPolicy> {
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

  /** `sign`, of a mail that is from `senderDomain`. */
  async signOne(work: DeliveryWork, mail: OutgoingMail, senderDomain: string): Promise<PreparedDelivery> {
    return this.sign(work, mail, await this.policyOf(work.scope, senderDomain, work.relay));
  }

  /** The mail, ready for the wire; postponed or FAILED where it must not leave. Never a mail without its signatures. */
  async sign(work: DeliveryWork, mail: OutgoingMail, policy: SendingPolicy): Promise<PreparedDelivery> {
    const { delivery } = work;
    switch (policy.kind) {
      case 'closed':
        return { ...work, outcome: this.#waiting(work) };
      case 'broken':
        return { ...work, outcome: misconfigured(delivery, policy.fault) };
      case 'open':
        try {
          return { ...work, mail: this.#addressed(await this.#signed(mail, policy), work.relay) };
        } catch (error) {
          return { ...work, outcome: misconfigured(delivery, describeError(error)) };
        }
    }
  }

  #ofVerified(scope: ProjectScope, identity: SendingIdentity, relay: OwnRelay | undefined): SendingPolicy {
    const { domainName: domain, keys } = identity;
    const records = relay === undefined ? null : recordsOfRelay(relay);
    // A relay that takes bounces itself needs no MX record of the domain for them.
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

  async #signed(
    mail: OutgoingMail,
    { signing, returnPathHost }: Extract<SendingPolicy, { kind: 'open' }>,
  ): Promise<OutgoingMail> {
    const fields = signing === null ? '' : await this.signer.sign(mail.raw.pieces, signing, this.clock.now());
    const envelopeFrom =
      returnPathHost === null ? mail.envelopeFrom : this.returnPaths.addressOf(mail, returnPathHost);
    return { ...mail, raw: withFields(fields, mail.raw), envelopeFrom };
  }

  /** Adds the headers that the project's relay asks for, before all that is signed. */
  #addressed(mail: OutgoingMail, relay: OwnRelay | undefined): OutgoingMail {
    if (relay === undefined) return mail;
    const { kind, options } = relay;
    const token = this.returnPaths.tokenOf(mail);
    const headers = kindRules(kind).headersOf({ token, stream: streamOf(mail.kind), options });
    const head = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    return { ...mail, raw: withFields(head, mail.raw) };
  }

  #waiting({ delivery }: DeliveryWork) {
    const now = this.clock.now().getTime();
    const reason = 'sender-domain-not-verified';
    if (now - delivery.dueSince.getTime() >= GIVEN_UP_MS) return misconfigured(delivery, reason);
    return postponed(delivery, reason, new Date(now + LOOK_AGAIN_MS));
  }
}

const mayCarry = ({ verified, sendingAllowed, domainName }: SendingIdentity, senderDomain: string): boolean =>
  verified && sendingAllowed && isAtOrBelow(senderDomain, domainName);

/** Before its other headers; each ends with CRLF. */
function withFields(fields: string, body: MailBody): MailBody {
  if (fields === '') return body;
  return { ...body, pieces: [fields, ...body.pieces], size: body.size + fields.length };
}

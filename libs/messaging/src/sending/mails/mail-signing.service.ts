import { Injectable } from '@nestjs/common';
import { DkimSigner, kindRules, type OwnRelay, ReturnPaths } from '#deliverability';
import { Clock, type MailBody, octetsOf } from '#kernel';
import { describeError } from '#platform';
import type { OutgoingMail } from '../../deliveries/delivery.js';
import { misconfigured, postponed } from '../delivery-outcome.js';
import type { DeliveryWork, PreparedDelivery } from '../delivery-source.js';
import type { SendingPolicy } from './sending-policy.js';
import { SendingPolicies } from './sending-policies.service.js';

const LOOK_AGAIN_MS = 15 * 60_000;
/** A domain that has not come back by then is not waited for: a mail is given up after as long. */
const GIVEN_UP_MS = 48 * 3_600_000;

/** The last hand on a composed mail: its return path and its signatures. */
@Injectable()
export class MailSigning {
  constructor(
    private readonly policies: SendingPolicies,
    private readonly signer: DkimSigner,
    private readonly returnPaths: ReturnPaths,
    private readonly clock: Clock,
  ) {}

  /** `sign`, of a mail that is from `senderDomain`. */
  async signOne(work: DeliveryWork, mail: OutgoingMail, senderDomain: string): Promise<PreparedDelivery> {
    return this.sign(work, mail, await this.policies.of(work.scope, senderDomain, work.relay));
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

  async #signed(
    mail: OutgoingMail,
    { signing, returnPathHost }: Extract<SendingPolicy, { kind: 'open' }>,
  ): Promise<OutgoingMail> {
    const fields =
      signing === null ? '' : await this.signer.sign(octetsOf(mail.raw), signing, this.clock.now());
    const envelopeFrom =
      returnPathHost === null ? mail.envelopeFrom : this.returnPaths.addressOf(mail, returnPathHost);
    return { ...mail, raw: withFields(fields, mail.raw), envelopeFrom };
  }

  /** With what the project's relay wants to know of it, before all that is signed. */
  #addressed(mail: OutgoingMail, relay: OwnRelay | undefined): OutgoingMail {
    if (relay === undefined) return mail;
    const { kind, options } = relay;
    const token = this.returnPaths.tokenOf(mail);
    const headers = kindRules(kind).headersOf({ token, stream: mail.kind, options });
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

/** Before its other headers; each ends with CRLF. */
function withFields(fields: string, body: MailBody): MailBody {
  if (fields === '') return body;
  return { ...body, pieces: [fields, ...body.pieces], size: body.size + fields.length };
}

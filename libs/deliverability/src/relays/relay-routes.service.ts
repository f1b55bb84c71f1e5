import { Injectable } from '@nestjs/common';
import { OutgoingHttp, RouteUnavailable, SecretBox, type SmtpRoute } from '#platform';
import type { Relay } from './relay.js';
import { relaySecret } from './relay-secret.js';

/** What a connection to a relay depends on. */
export type RelayEndpoint = Pick<
  Relay,
  'environmentId' | 'projectId' | 'host' | 'port' | 'tls' | 'username' | 'passwordBox'
>;

/** How relays are reached. */
@Injectable()
export class RelayRoutes {
  constructor(
    private readonly box: SecretBox,
    private readonly outgoing: OutgoingHttp,
  ) {}

  /** Looks the host up anew. Rejects with RouteUnavailable where it leads to no address that may be spoken to. */
  async to(relay: RelayEndpoint): Promise<SmtpRoute> {
    const { host, port, tls, username, passwordBox } = relay;
    const address = await this.outgoing.addressOf(host);
    if (address === null)
      throw new RouteUnavailable('connect', 'The host has no address, or none that is public.');
    return {
      host,
      address,
      port,
      implicitTls: tls === 'IMPLICIT',
      startTls: tls === 'OPPORTUNISTIC' ? 'opportunistic' : 'required',
      rejectUnauthorized: tls !== 'OPPORTUNISTIC',
      credentials:
        username === null || passwordBox === null
          ? null
          : { user: username, pass: this.#open(passwordBox, relay) },
    };
  }

  #open(passwordBox: string, relay: RelayEndpoint): string {
    try {
      return this.box.open(passwordBox, relaySecret(relay));
    } catch {
      throw new RouteUnavailable('auth', 'The password cannot be decrypted: the master key is another one.');
    }
  }
}

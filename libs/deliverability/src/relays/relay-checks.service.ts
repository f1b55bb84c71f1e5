import { Inject, Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { checkRoute, type Config, CONFIG, OutgoingHttp, redact, type RouteCheck, SecretBox } from '#platform';
import type { Relay } from './relay.js';
import { RelayRepository } from './relay.repository.js';
import { relaySecret } from './relay-secret.js';

/** Three of them pass before a request ends. */
const LIMIT_MS = 5_000;

/** Finds out whether relays can be used. */
@Injectable()
export class RelayChecks {
  constructor(
    @Inject(RelayRepository) private readonly relays: RelayRepository,
    @Inject(SecretBox) private readonly box: SecretBox,
    @Inject(OutgoingHttp) private readonly outgoing: OutgoingHttp,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Connects, secures and authenticates; sends nothing and changes nothing. Throws NotFoundError. */
  async check(scope: ProjectScope, relayKey: string): Promise<RouteCheck> {
    const relay = await this.relays.find(scope, relayKey);
    const address = await this.outgoing.addressOf(relay.host);
    if (address === null)
      return { isReady: false, stage: 'connect', detail: 'The host leads to no public address.' };
    const checked = await checkRoute(this.#routeTo(relay, address), this.config.SMTP_EHLO_NAME, LIMIT_MS);
    return checked.isReady ? checked : { ...checked, detail: redact(checked.detail) };
  }

  #routeTo(relay: Relay, address: string) {
    const { host, port, tls, username, passwordBox } = relay;
    return {
      host,
      address,
      port,
      implicitTls: tls === 'IMPLICIT',
      startTls: tls === 'OPPORTUNISTIC' ? ('opportunistic' as const) : ('required' as const),
      rejectUnauthorized: tls !== 'OPPORTUNISTIC',
      credentials:
        username === null || passwordBox === null
          ? null
          : { user: username, pass: this.box.open(passwordBox, relaySecret(relay)) },
    };
  }
}

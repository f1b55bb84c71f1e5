import { Inject, Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { checkRoute, type Config, CONFIG, redact, type RouteCheck } from '#platform';
import { RelayRepository } from './relay.repository.js';
import { type RelayEndpoint, RelayRoutes } from './relay-routes.service.js';

/** Three of them pass before a check ends. */
const LIMIT_MS = 5_000;

/** Finds out whether relays can be used. */
@Injectable()
export class RelayChecks {
  constructor(
    private readonly relays: RelayRepository,
    private readonly routes: RelayRoutes,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Connects, secures and authenticates; sends nothing and changes nothing. Throws NotFoundError. */
  async check(scope: ProjectScope, relayKey: string): Promise<RouteCheck> {
    return this.try(await this.relays.find(scope, relayKey));
  }

  /** The same of a relay that is known. */
  async try(relay: RelayEndpoint): Promise<RouteCheck> {
    const checked = await checkRoute(() => this.routes.to(relay), this.config.SMTP_EHLO_NAME, LIMIT_MS);
    return checked.isReady ? checked : { ...checked, detail: redact(checked.detail) };
  }
}

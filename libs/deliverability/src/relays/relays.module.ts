import { Module } from '@nestjs/common';
import { FeedbackAddresses } from './feedback-addresses.service.js';
import { OwnRelaysQuery } from './own-relays.query.js';
import { RelayChecks } from './relay-checks.service.js';
import { RelayHealth } from './relay-health.service.js';
import { RelayRates } from './relay-rates.service.js';
import { RelayRoutes } from './relay-routes.service.js';
import { RelayRepository } from './relay.repository.js';
import { RelaysService } from './relays.service.js';
import { SealedRelaySecrets } from './sealed-relay-secrets.query.js';

const services = [
  FeedbackAddresses,
  OwnRelaysQuery,
  RelayChecks,
  RelayHealth,
  RelayRates,
  RelayRepository,
  RelayRoutes,
  RelaysService,
  SealedRelaySecrets,
];

/** Where projects' live mail is handed over, and what is said back. */
@Module({ providers: services, exports: services })
export class RelaysModule {}

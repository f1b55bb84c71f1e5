import { Module } from '@nestjs/common';
import { FeedbackAddresses } from './feedback-addresses.js';
import { RelayChecks } from './relay-checks.service.js';
import { RelayRepository } from './relay.repository.js';
import { RelaysService } from './relays.service.js';
import { SealedRelaySecrets } from './sealed-relay-secrets.query.js';

const services = [FeedbackAddresses, RelayChecks, RelayRepository, RelaysService, SealedRelaySecrets];

/** Where projects' live mail is handed over, and what is said back. */
@Module({ providers: services, exports: services })
export class RelaysModule {}

import { Injectable } from '@nestjs/common';
import { Clock, NotFoundError, type ProjectScope, UnavailableError } from '#kernel';
import { Notifications, waitForWorker } from '#platform';
import { DOMAIN_CHECKS_CHANNEL, DomainCheckRequests } from './domain-check-requests.query.js';
import { SendingDomainRepository } from './sending-domain.repository.js';
import { SendingDomainsQuery, type SendingDomainView } from './sending-domains.query.js';

const RETRY_AFTER_SECONDS = 5;
const SHARED_MS = 60_000;

/** Has the worker look at a domain's DNS for a client who waits. */
@Injectable()
export class DomainVerificationService {
  constructor(
    private readonly domains: SendingDomainRepository,
    private readonly requests: DomainCheckRequests,
    private readonly query: SendingDomainsQuery,
    private readonly notifications: Notifications,
    private readonly clock: Clock,
  ) {}

  /** What was found. Throws `NotFoundError` without a domain, `UnavailableError` when no worker looked within 15 s. */
  async verify(scope: ProjectScope): Promise<SendingDomainView> {
    const domain = await this.domains.find(scope);
    if (domain === null) throw new NotFoundError();
    const since = new Date(this.clock.now().getTime() - SHARED_MS);
    const id = await this.requests.request(scope, domain.id, since);
    if (id === null) throw new NotFoundError();
    const state = await waitForWorker(this.notifications, {
      channel: DOMAIN_CHECKS_CHANNEL,
      id,
      look: () => this.requests.state(scope, id),
      isOver: (found) => found !== 'PENDING',
    });
    if (state === null)
      throw new UnavailableError('No worker has looked at the DNS in time.', RETRY_AFTER_SECONDS);
    return this.query.ofScope(scope);
  }
}

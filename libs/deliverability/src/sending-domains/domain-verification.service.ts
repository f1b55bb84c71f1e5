import { Injectable } from '@nestjs/common';
import { Clock, newId, NotFoundError, type ProjectScope, UnavailableError } from '#kernel';
import { Database, enqueue, jobType, Notifications, present, waitForWorker } from '#platform';
import type { DeliverabilityTables } from '../deliverability.schema.js';
import { SendingDomainRepository } from './sending-domain.repository.js';
import { SendingDomainsQuery, type SendingDomainView } from './sending-domains.query.js';

/** Checks the DNS of a domain; a client may be waiting for it. */
export const checkDomain = jobType<{ checkId: string }>('sending_domains.check', 'dns');

/** Channel on which waiting clients hear that a domain was looked at; the payload is the check's id. */
export const DOMAIN_CHECKS_CHANNEL = 'mailwright_domain_checks';

const RETRY_AFTER_SECONDS = 5;
const SHARED_MS = 60_000;

/** Has the worker look at domains' DNS: requests checks, and waits for one with a client. */
@Injectable()
export class DomainVerificationService {
  constructor(
    private readonly database: Database,
    private readonly domains: SendingDomainRepository,
    private readonly query: SendingDomainsQuery,
    private readonly notifications: Notifications,
    private readonly clock: Clock,
  ) {}

  /** The domain after the check. Throws `NotFoundError`, or `UnavailableError` when no worker looked within 15 s. */
  async verify(scope: ProjectScope): Promise<SendingDomainView> {
    const domain = await this.domains.find(scope);
    if (domain === null) throw new NotFoundError();
    const since = new Date(this.clock.now().getTime() - SHARED_MS);
    const id = await this.request(scope, domain.id, since);
    if (id === null) throw new NotFoundError();
    const state = await waitForWorker(this.notifications, {
      channel: DOMAIN_CHECKS_CHANNEL,
      id,
      look: () => this.state(scope, id),
      isOver: (found) => found !== 'PENDING',
    });
    if (state === null)
      throw new UnavailableError('No worker has looked at the DNS in time.', RETRY_AFTER_SECONDS);
    return this.query.ofScope(scope);
  }

  /**
   * One that a client asked for since `since`, and nobody has done yet, is waited for again rather than made twice. Null
   * when the domain was removed meanwhile.
   */
  request(scope: ProjectScope, domainId: number, since: Date): Promise<string | null> {
    return this.database.transaction(scope, async () => {
      const waiting = await this.#tables
        .selectFrom('deliverability.domain_checks')
        .select('id')
        .where('environmentId', '=', scope.environmentId)
        .where('domainId', '=', domainId)
        .where('askedBy', '=', 'CLIENT')
        .where('state', '=', 'PENDING')
        .where('createdAt', '>', since)
        .executeTakeFirst();
      if (waiting !== undefined) return waiting.id;
      const domain = await this.#tables
        .selectFrom('deliverability.sending_domains')
        .select('id')
        .where('environmentId', '=', scope.environmentId)
        .where('id', '=', domainId)
        .forKeyShare()
        .executeTakeFirst();
      return domain === undefined ? null : this.add(scope, domainId, 'CLIENT');
    });
  }

  /** Has the worker look at a domain that stays until the open transaction ends. */
  async add(scope: ProjectScope, domainId: number, askedBy: 'CLIENT' | 'SCHEDULE'): Promise<string> {
    const id = newId();
    await this.#tables
      .insertInto('deliverability.domain_checks')
      .values({ id, environmentId: scope.environmentId, domainId, askedBy, createdAt: present })
      .execute();
    await enqueue(this.database, scope, checkDomain({ checkId: id }));
    return id;
  }

  /** GONE: the domain was removed meanwhile. */
  state(scope: ProjectScope, id: string): Promise<'PENDING' | 'DONE' | 'GONE'> {
    return this.database.transaction(scope, async () => {
      const check = await this.#tables
        .selectFrom('deliverability.domain_checks')
        .select('state')
        .where('environmentId', '=', scope.environmentId)
        .where('id', '=', id)
        .executeTakeFirst();
      return check?.state ?? 'GONE';
    });
  }

  /** In the open transaction; who waits is told when it commits. */
  async finish(scope: ProjectScope, id: string): Promise<void> {
    await this.#tables
      .updateTable('deliverability.domain_checks')
      .set({ state: 'DONE' })
      .where('environmentId', '=', scope.environmentId)
      .where('id', '=', id)
      .execute();
    this.database.notify(DOMAIN_CHECKS_CHANNEL, id);
  }

  get #tables() {
    return this.database.tables<DeliverabilityTables>();
  }
}

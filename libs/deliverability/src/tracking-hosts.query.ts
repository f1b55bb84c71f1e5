import { isIPv4, isIPv6 } from 'node:net';
import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Project } from '#access';
import type { ProjectScope } from '#kernel';
import { type Config, CONFIG, Database, named } from '#platform';
import type { DeliverabilityTables } from './deliverability.schema.js';
import type { DnsRecordStatus } from './dns/dns-record.js';
import { publicHostOf } from './tracking-host.js';

/** A project's host for links, and the record to publish for it. */
export interface TrackingHostView {
  readonly status: DnsRecordStatus;
  readonly checkedAt: Date | null;
  readonly lastError: string | null;
  readonly expectedRecord: {
    readonly type: 'CNAME' | 'A' | 'AAAA';
    readonly name: string;
    readonly value: string;
  };
}

/** The owner of a host that points here, or did. */
export interface HostOwner {
  readonly environmentIds: readonly number[];
  readonly isVerified: boolean;
}

type HostOfProject = Pick<Project, 'trackingHost'>;

/** Reads hosts for links. */
@Injectable()
export class TrackingHostsQuery {
  constructor(
    private readonly database: Database,
    @Inject(CONFIG) private readonly config: Pick<Config, 'PUBLIC_URL'>,
  ) {}

  /** Null where the project names none. */
  async view(scope: ProjectScope, { trackingHost: name }: HostOfProject): Promise<TrackingHostView | null> {
    if (name === null) return null;
    const seen = await this.#seen(scope, name);
    const value = publicHostOf(this.config);
    const type = isIPv4(value) ? 'A' : isIPv6(value) ? 'AAAA' : 'CNAME';
    return {
      status: 'PENDING',
      checkedAt: null,
      lastError: null,
      ...seen,
      expectedRecord: { type, name, value },
    };
  }

  /** Base of the links of new mails: the project's host while it is verified, else PUBLIC_URL. */
  async linkBase(scope: ProjectScope, { trackingHost }: HostOfProject): Promise<string> {
    const seen = trackingHost === null ? undefined : await this.#seen(scope, trackingHost);
    return seen?.status === 'VERIFIED' ? `https://${trackingHost}` : this.config.PUBLIC_URL;
  }

  /** Null where no project has been verified for the host. Needs no scope. */
  async ownerOf(host: string): Promise<HostOwner | null> {
    const [found] = await this.database.statement(
      'unscoped',
      sql<{ environmentIds: string[]; isVerified: boolean }>`${named('find_tracking_host')}
        select environment_ids, is_verified
        from deliverability.find_tracking_host(${host})`,
    );
    return found === undefined ? null : { ...found, environmentIds: found.environmentIds.map(Number) };
  }

  #seen(scope: ProjectScope, host: string) {
    return this.database.transaction(scope, () =>
      this.database
        .tables<DeliverabilityTables>()
        .selectFrom('deliverability.tracking_hosts')
        .select(['status', 'checkedAt', 'lastError'])
        .where('projectId', '=', scope.projectId)
        .where('host', '=', host)
        .executeTakeFirst(),
    );
  }
}

import { Injectable } from '@nestjs/common';
import type { Kysely } from 'kysely';
import type { AccessTables } from '#access';
import {
  Clock,
  type Environment,
  NotFoundError,
  type Page,
  type PageRequest,
  type ProjectScope,
} from '#kernel';
import { Database, ListOrder, PreparedQuery, SecretBox } from '#platform';
import type { DeliverabilityTables } from '../deliverability.schema.js';
import { type DkimAlgorithm, dkimSecret } from '../dkim/dkim-key.js';
import { dmarcAdvice } from '../dns/dmarc-policy.js';
import type { DnsRecord, DnsRecordStatus } from '../dns/dns-record.js';
import { instructionsText } from './dns-instructions.js';
import { isVerified, type SendingDomain, type SendingDomainStatus } from './sending-domain.js';
import { SendingDomainRepository } from './sending-domain.repository.js';

/** A domain with the records that its owner has to publish. */
export type SendingDomainView = ReturnType<typeof toView>;
export type DnsRecordView = ReturnType<typeof toRecordView>;

export interface DnsInstructions {
  readonly domainName: string;
  readonly requiredRecords: readonly DnsRecordView[];
  readonly instructionsText: string;
}

/** The state of a project's sending domain, without the keys that sign its mail. */
export interface SendingDomainSummary {
  /** Lower-case A-labels. */
  readonly domainName: string;
  readonly verified: boolean;
  /** False if it is verified and still must not send, since its DKIM record is gone, for example. */
  readonly sendingAllowed: boolean;
  /** When it was verified first; null before that. */
  readonly verifiedAt: Date | null;
  /** Null if it is not suspended. */
  readonly suspensionReason: string | null;
  /** The last check of its DMARC record; null before the first. */
  readonly dmarc: DmarcSummary | null;
}

interface DmarcSummary {
  readonly status: DnsRecordStatus;
  readonly failureReason: string | null;
  /** The next step for a valid record, such as a policy after p=none; null if there is none. */
  readonly advice: string | null;
}

/** A key that signs mail. */
export interface DkimKey {
  readonly selector: string;
  readonly algorithm: DkimAlgorithm;
  /** PKCS #8. */
  readonly privateKeyPem: string;
}

/** The sending domain as the sender of mail needs it. */
export interface SendingIdentity {
  readonly domainId: number;
  /** Lower-case A-labels. */
  readonly domainName: string;
  readonly status: SendingDomainStatus;
  readonly sendingAllowed: boolean;
  /** True if its DNS was right and is not known to have stopped being the customer's. */
  readonly verified: boolean;
  /** When its DNS was right first; null: never. */
  readonly verifiedAt: Date | null;
  /** The domain of the envelope sender (VERP). */
  readonly returnPathHost: string;
  /** The keys that sign now, RSA before Ed25519. */
  readonly keys: readonly DkimKey[];
}

/** Runs for each batch of mails. */
const IDENTITY = new PreparedQuery(
  'sending_identity',
  (tables: Kysely<DeliverabilityTables>, environmentId: number) =>
    tables
      .selectFrom('deliverability.sending_domains as d')
      .leftJoin('deliverability.dkim_keys as k', (join) =>
        join
          .onRef('k.domainId', '=', 'd.id')
          .onRef('k.environmentId', '=', 'd.environmentId')
          .on('k.state', '=', 'ACTIVE'),
      )
      .where('d.environmentId', '=', environmentId)
      .select(['d.id as domainId', 'd.domainName', 'd.status', 'd.sendingAllowed', 'd.verifiedAt'])
      .select(['d.returnPathHost', 'k.selector', 'k.algorithm', 'k.privateKeyBox'])
      .orderBy('k.algorithm', 'desc')
      .orderBy('k.id'),
);

const OPERATED = [
  'd.id',
  'd.environmentId',
  't.tenantKey',
  'p.projectKey',
  'e.environment',
  'd.domainName',
  'd.status',
  'd.sendingAllowed',
  'd.suspensionReason',
  'd.healthScore',
  'd.lastCheckedAt',
  'd.createdAt',
  'd.updatedAt',
] as const;

/** A domain in the operator's list. */
export interface OperatedDomain {
  readonly id: number;
  readonly environmentId: number;
  readonly tenantKey: string;
  readonly projectKey: string;
  readonly environment: Environment;
  readonly domainName: string;
  readonly status: SendingDomainStatus;
  readonly sendingAllowed: boolean;
  readonly suspensionReason: string | null;
  readonly healthScore: number | null;
  readonly lastCheckedAt: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

const DOMAINS_NEWEST_FIRST = new ListOrder([
  ['d.created_at', 'timestamptz'],
  ['d.id', 'bigint'],
]);

/** Reads sending domains. */
@Injectable()
export class SendingDomainsQuery {
  constructor(
    private readonly database: Database,
    private readonly domains: SendingDomainRepository,
    private readonly secrets: SecretBox,
    private readonly clock: Clock,
  ) {}

  /** Throws `NotFoundError` when none is set up. */
  async ofScope(scope: ProjectScope): Promise<SendingDomainView> {
    return toView(await this.#load(scope));
  }

  /** Domains of all environments, newest first, for the operator. */
  pageOfAll(status: SendingDomainStatus | undefined, request: PageRequest): Promise<Page<OperatedDomain>> {
    return this.database.system(() => {
      const all = this.database
        .tables<AccessTables & DeliverabilityTables>()
        .selectFrom('deliverability.sending_domains as d')
        .innerJoin('access.project_environments as e', 'e.id', 'd.environmentId')
        .innerJoin('access.projects as p', 'p.id', 'e.projectId')
        .innerJoin('access.tenants as t', 't.id', 'p.tenantId');
      const domains = status === undefined ? all : all.where('d.status', '=', status);
      return DOMAINS_NEWEST_FIRST.page(domains.select(OPERATED), domains, request);
    });
  }

  /** The records to publish, and how; throws `NotFoundError` when no domain is set up. */
  async instructions(scope: ProjectScope): Promise<DnsInstructions> {
    const domain = await this.#load(scope);
    return {
      domainName: domain.domainName,
      requiredRecords: domain.requiredRecords.map(toRecordView),
      instructionsText: instructionsText(domain, this.clock.now()),
    };
  }

  /** Null when no domain is set up. */
  async summary(scope: ProjectScope): Promise<SendingDomainSummary | null> {
    const row = await this.database.transaction(scope, () =>
      this.database
        .tables<DeliverabilityTables>()
        .selectFrom('deliverability.sending_domains as d')
        .leftJoin('deliverability.dns_records as r', (join) =>
          join
            .onRef('r.domainId', '=', 'd.id')
            .onRef('r.environmentId', '=', 'd.environmentId')
            .on('r.purpose', '=', 'DMARC'),
        )
        .where('d.environmentId', '=', scope.environmentId)
        .select(['d.domainName', 'd.status', 'd.sendingAllowed', 'd.verifiedAt', 'd.suspensionReason'])
        .select(['r.status as dmarcStatus', 'r.failureReason', 'r.note'])
        .executeTakeFirst(),
    );
    if (row === undefined) return null;
    const { status, dmarcStatus, failureReason, note, ...facts } = row;
    const dmarc =
      dmarcStatus === null ? null : { status: dmarcStatus, failureReason, advice: dmarcAdvice(note) };
    return { ...facts, verified: isVerified(status), dmarc };
  }

  /** Null when no domain is set up. Throws `UnreadableSecretError` when a key cannot be decrypted. */
  async identity(scope: ProjectScope): Promise<SendingIdentity | null> {
    const rows = await this.database.transaction(scope, () =>
      IDENTITY.run(this.database.tables(), scope.environmentId),
    );
    const [domain] = rows;
    if (domain === undefined) return null;
    const { domainId, domainName, status, sendingAllowed, verifiedAt, returnPathHost } = domain;
    const facts = { domainId, domainName, status, sendingAllowed, verifiedAt, returnPathHost };
    const keys = rows.flatMap(({ selector, algorithm, privateKeyBox }) =>
      selector === null || algorithm === null || privateKeyBox === null
        ? []
        : [{ selector, algorithm, privateKeyPem: this.secrets.open(privateKeyBox, dkimSecret(scope)) }],
    );
    return { ...facts, verified: isVerified(status), keys };
  }

  #load(scope: ProjectScope): Promise<SendingDomain> {
    return this.database.transaction(scope, async () => {
      const domain = await this.domains.hold(scope);
      if (domain === null) throw new NotFoundError();
      return domain;
    });
  }
}

function toView(domain: SendingDomain) {
  const { records: _, needed: _needed, ...facts } = domain;
  const required = domain.requiredRecords;
  return {
    ...facts,
    dnsRecords: required.map(toRecordView),
    /** True if the last checks found all of them right. */
    allVerified: required.every(({ isRight }) => isRight),
  };
}

function toRecordView({ key, ...facts }: DnsRecord) {
  if (key === null) return { ...facts, key };
  const { state, algorithm, retiredAt } = key;
  return { ...facts, key: { state, algorithm, retiredAt } };
}

/** True if `host` is the domain or below it, so that the domain may sign its mail, and aligns. */
export function isAtOrBelow(host: string, domainName: string): boolean {
  return host === domainName || host.endsWith(`.${domainName}`);
}

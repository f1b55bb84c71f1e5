import { dkimSecret } from '../../libs/deliverability/src/dkim/dkim-key.js';
import type { ProjectScope } from '../../libs/kernel/src/index.js';
import { SecretBox } from '../../libs/platform/src/index.js';
import type { TestDatabase } from './database.js';
import { ed25519Key, type PublishedKey } from './dkim-keys.js';
import type { DnsServer } from './dns-server.js';
import { SECRETS } from './system.js';

export interface TestSendingDomain {
  readonly domainName: string;
  readonly keys: readonly PublishedKey[];
  readonly status?: string;
  readonly sendingAllowed?: boolean;
  readonly verifiedAt?: Date;
  /** As the last check of the DMARC record left it. */
  readonly dmarcNote?: string | null;
}

/** Host to which bounces of mail from this domain go. */
export const returnPathHostOf = (domainName: string): string => `bounce.${domainName}`;

/** A sending domain as its set-up and its checks would leave it: verified long ago, unless said. */
export async function insertSendingDomain(
  database: TestDatabase,
  scope: ProjectScope,
  domain: TestSendingDomain,
): Promise<void> {
  const { domainName, keys, status = 'ACTIVE', sendingAllowed = true, dmarcNote = null } = domain;
  const verifiedAt = domain.verifiedAt ?? new Date('2026-01-01T00:00:00Z');
  const [row] = await database.query<{ id: string }>(
    `insert into deliverability.sending_domains (environment_id, project_id, tenant_id, domain_name, domain_type, status,
       sending_allowed, return_path_host, checks_started_at, verified_at, created_at, updated_at)
     values ($1, $2, $3, $4, 'CUSTOM', $5, $6, $7, $8, $8, $8, $8) returning id`,
    [
      scope.environmentId,
      scope.projectId,
      scope.tenantId,
      domainName,
      status,
      sendingAllowed,
      returnPathHostOf(domainName),
      verifiedAt,
    ],
  );
  const box = new SecretBox(SECRETS.MASTER_KEY);
  for (const { selector, algorithm, privateKeyPem } of keys) {
    await database.query(
      `insert into deliverability.dkim_keys (environment_id, domain_id, selector, algorithm, public_key, private_key_box, state, created_at)
       values ($1, $2, $3, $4, '', $5, 'ACTIVE', now())`,
      [scope.environmentId, row!.id, selector, algorithm, box.seal(privateKeyPem, dkimSecret(scope))],
    );
  }
  await database.query(
    `insert into deliverability.dns_records (environment_id, domain_id, purpose, record_type, host, expected_value, status, note)
     values ($1, $2, 'DMARC', 'TXT', $3, 'v=DMARC1; p=none', 'VERIFIED', $4)`,
    [scope.environmentId, row!.id, `_dmarc.${domainName}`, dmarcNote],
  );
}

/** Lets a project send live mail from `news@<domainName>`. */
export async function allowLiveMail(
  database: TestDatabase,
  scope: ProjectScope,
  domainName: string,
): Promise<void> {
  await insertSendingDomain(database, scope, { domainName, keys: [ed25519Key('one')] });
  await database.query('update access.projects set default_from_email = $1 where id = $2', [
    `news@${domainName}`,
    scope.projectId,
  ]);
}

/** Publishes the records of its owner, for mail that leaves from 127.0.0.1. */
export function publishSendingDomain(dns: DnsServer, { domainName, keys }: TestSendingDomain): void {
  for (const { selector, record } of keys) dns.txt(`${selector}._domainkey.${domainName}`, record);
  dns.txt(returnPathHostOf(domainName), 'v=spf1 ip4:127.0.0.1 -all');
  dns.mx(returnPathHostOf(domainName), { preference: 10, exchange: 'bounces.mailwright.test' });
  dns.txt(`_dmarc.${domainName}`, 'v=DMARC1; p=reject; aspf=r; adkim=r');
}

import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database, SecretBox } from '#platform';
import type { DkimAlgorithm } from '../dkim/dkim-key.js';
import { dkimSecret } from '../dkim/dkim-secret.js';
import { isVerified, type SendingDomainStatus } from './sending-domain.js';

/** What a mail is signed with. */
export interface DkimKey {
  readonly selector: string;
  readonly algorithm: DkimAlgorithm;
  /** PKCS #8. */
  readonly privateKeyPem: string;
}

/** As whom a project's mail goes out. */
export interface SendingIdentity {
  readonly domainId: number;
  /** Lower-case A-labels. */
  readonly domainName: string;
  readonly status: SendingDomainStatus;
  readonly sendingAllowed: boolean;
  /** Whether its DNS was right and is not known to have stopped being the customer's. */
  readonly verified: boolean;
  /** When its DNS was right first; null: never. */
  readonly verifiedAt: Date | null;
  /** The domain of the envelope sender (VERP). */
  readonly returnPathHost: string;
  /** Those that sign now, RSA before Ed25519. */
  readonly keys: readonly DkimKey[];
}

interface Row {
  readonly id: number;
  readonly verified_at: Date | null;
  readonly domain_name: string;
  readonly status: SendingDomainStatus;
  readonly sending_allowed: boolean;
  readonly return_path_host: string;
  readonly selector: string | null;
  readonly algorithm: DkimAlgorithm;
  readonly private_key_box: string;
}

/** The sending domain as whoever signs and sends needs it. */
@Injectable()
export class SendingIdentityQuery {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(SecretBox) private readonly secrets: SecretBox,
  ) {}

  /** Null when no domain is set up. Throws `UnreadableSecretError` when a key cannot be decrypted. */
  async ofScope(scope: ProjectScope): Promise<SendingIdentity | null> {
    const rows = await this.database.transaction(scope, async ({ db }) => {
      const result = await sql<Row>`
        select d.id, d.verified_at, d.domain_name, d.status, d.sending_allowed, d.return_path_host, k.selector, k.algorithm, k.private_key_box
        from deliverability.sending_domains d
        left join deliverability.dkim_keys k on k.domain_id = d.id and k.state = 'ACTIVE'
        where d.environment_id = ${scope.environmentId}
        order by k.algorithm desc, k.id
      `.execute(db);
      return result.rows;
    });
    const [domain] = rows;
    if (domain === undefined) return null;
    return {
      domainId: domain.id,
      verifiedAt: domain.verified_at,
      domainName: domain.domain_name,
      status: domain.status,
      sendingAllowed: domain.sending_allowed,
      verified: isVerified(domain.status),
      returnPathHost: domain.return_path_host,
      keys: rows.flatMap((row) => this.#keyOf(scope, row)),
    };
  }

  #keyOf(scope: ProjectScope, { selector, algorithm, private_key_box: box }: Row): DkimKey[] {
    if (selector === null) return [];
    return [{ selector, algorithm, privateKeyPem: this.secrets.open(box, dkimSecret(scope)) }];
  }
}

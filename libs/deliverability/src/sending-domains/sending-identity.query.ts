import { Injectable } from '@nestjs/common';
import type { Kysely } from 'kysely';
import type { ProjectScope } from '#kernel';
import { PreparedQuery, Database, SecretBox } from '#platform';
import type { DeliverabilityTables } from '../deliverability-tables.js';
import type { DkimAlgorithm } from '../dkim/dkim-key.js';
import { dkimSecret } from '../dkim/dkim-secret.js';
import { isVerified, type SendingDomainStatus } from './sending-domain-status.js';

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

/** Asked for with each batch of mails. */
const IDENTITY = new PreparedQuery((tables: Kysely<DeliverabilityTables>, environmentId: number) =>
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

/** The sending domain as whoever signs and sends needs it. */
@Injectable()
export class SendingIdentityQuery {
  constructor(
    private readonly database: Database,
    private readonly secrets: SecretBox,
  ) {}

  /** Null when no domain is set up. Throws `UnreadableSecretError` when a key cannot be decrypted. */
  async ofScope(scope: ProjectScope): Promise<SendingIdentity | null> {
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
}

import { generateKeyPair, type KeyObject, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import {
  type Config,
  CONFIG,
  Database,
  openFirstRow,
  resealRows,
  type SealedRow,
  type CheckedSecrets,
  SecretBox,
} from '#platform';
import { type DkimAlgorithm, dkimSecret, type NewDkimKey } from './dkim-key.js';

const generate = promisify(generateKeyPair);
/** RFC 8301 §3.2 asks for 1024 at least and advises 2048; longer ones don't fit in every form. */
const RSA_BITS = 2048;
const SELECTOR_BYTES = 5;
/** RFC 8463 §4.2: the bare 32 bytes, which end the SPKI form. */
const ED25519_BYTES = 32;

/** The private halves of all projects' keys. */
const PRIVATE_KEYS = {
  contextOf: dkimSecret,
  sealedOtherwise: (prefix: string, limit: number) => sql<SealedRow<number>>`
    select k.id as key, d.project_id, k.environment_id, array[k.private_key_box] as boxes
    from deliverability.dkim_keys k
    join deliverability.sending_domains d on d.id = k.domain_id and d.environment_id = k.environment_id
    where not starts_with(k.private_key_box, ${prefix})
    order by k.id limit ${limit}
  `,
  rewrite: (
    { key, environmentId, boxes: [old] }: SealedRow<number>,
    [box]: SealedRow<number>['boxes'],
  ) => sql`
    update deliverability.dkim_keys set private_key_box = ${box}
    where environment_id = ${environmentId} and id = ${key} and private_key_box = ${old}
  `,
};

/** Makes the keys that a domain's mail is signed with. */
@Injectable()
export class DkimKeysService implements CheckedSecrets {
  constructor(
    private readonly database: Database,
    private readonly secrets: SecretBox,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** RSA-2048, and Ed25519 beside it where that is configured; each under a selector that nobody else has. */
  async make(scope: ProjectScope): Promise<readonly NewDkimKey[]> {
    const rsa = await this.#rsa(scope);
    return this.config.DKIM_ED25519 ? [rsa, await this.#ed25519(scope)] : [rsa];
  }

  resealSecrets(limit: number): Promise<number> {
    return this.database.system(() => resealRows(this.database, this.secrets, PRIVATE_KEYS, limit));
  }

  checkSecrets(): Promise<void> {
    return this.database.system(() => openFirstRow(this.database, this.secrets, PRIVATE_KEYS));
  }

  async #rsa(scope: ProjectScope): Promise<NewDkimKey> {
    const { publicKey, privateKey } = await generate('rsa', { modulusLength: RSA_BITS });
    const spki = publicKey.export({ type: 'spki', format: 'der' });
    return this.#sealed(scope, 'rsa-sha256', spki.toString('base64'), privateKey);
  }

  async #ed25519(scope: ProjectScope): Promise<NewDkimKey> {
    const { publicKey, privateKey } = await generate('ed25519');
    const spki = publicKey.export({ type: 'spki', format: 'der' });
    return this.#sealed(
      scope,
      'ed25519-sha256',
      spki.subarray(-ED25519_BYTES).toString('base64'),
      privateKey,
    );
  }

  #sealed(
    scope: ProjectScope,
    algorithm: DkimAlgorithm,
    publicKey: string,
    privateKey: KeyObject,
  ): NewDkimKey {
    const pem = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
    return {
      algorithm,
      publicKey,
      selector: `mw${randomBytes(SELECTOR_BYTES).toString('hex')}`,
      privateKeyBox: this.secrets.seal(pem, dkimSecret(scope)),
    };
  }
}

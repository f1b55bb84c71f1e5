import { hkdfSync } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { environmentScopes } from '#access';
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
import type { MessagingTables } from '../messaging-tables.js';

const KEY_BYTES = 32;

type Owner = Pick<ProjectScope, 'projectId' | 'environmentId'>;

/** The context in which the signing secret of an environment's automations is sealed. */
function secretContext({ projectId, environmentId }: Owner) {
  return { purpose: 'automation-webhook-secret', owner: { projectId, environmentId } };
}

/**
 * The first secret of an environment, in the format of Standard Webhooks. It is derived from the master key, as it was
 * before secrets were stored, so that receivers need not change it.
 */
export function firstSecret(masterKey: string, { environmentId }: Owner): string {
  const purpose = `mailwright.automation-webhooks.v1/${environmentId}`;
  return `whsec_${Buffer.from(hkdfSync('sha256', masterKey, '', purpose, KEY_BYTES)).toString('base64')}`;
}

/** The signing secrets of all projects' automations. */
const SECRETS = {
  contextOf: secretContext,
  sealedOtherwise: (prefix: string, limit: number) => sql<SealedRow<number>>`
    select environment_id as key, project_id, environment_id, array[secret] as boxes
    from messaging.automation_secrets
    where not starts_with(secret, ${prefix})
    order by environment_id limit ${limit}
  `,
  rewrite: ({ environmentId, boxes: [old] }: SealedRow<number>, [box]: SealedRow<number>['boxes']) => sql`
    update messaging.automation_secrets set secret = ${box} where environment_id = ${environmentId} and secret = ${old}
  `,
};

/** The secrets that sign the webhooks of each environment's automations. They stay when the master key changes. */
@Injectable()
export class AutomationSecretsService implements CheckedSecrets {
  readonly #known = new Map<number, string>();
  readonly #masterKey: string;

  constructor(
    private readonly database: Database,
    private readonly box: SecretBox,
    @Inject(CONFIG) { MASTER_KEY, MASTER_KEY_PREVIOUS }: Config,
  ) {
    this.#masterKey = MASTER_KEY_PREVIOUS ?? MASTER_KEY;
  }

  /** The secret of an environment, which is stored when it is first asked for. */
  async of(scope: ProjectScope): Promise<string> {
    const { environmentId } = scope;
    const secret = this.#known.get(environmentId) ?? (await this.#read(scope));
    this.#known.set(environmentId, secret);
    return secret;
  }

  /** Stores also secrets that nobody has asked for: they follow from the previous master key, while that is known. */
  resealSecrets(limit: number): Promise<number> {
    return this.database.system(
      async () => (await resealRows(this.database, this.box, SECRETS, limit)) || this.#storeUnasked(limit),
    );
  }

  checkSecrets(): Promise<void> {
    return this.database.system(() => openFirstRow(this.database, this.box, SECRETS));
  }

  async #storeUnasked(limit: number): Promise<number> {
    const { rows } = await sql<Owner>`
      select e.project_id, e.environment_id
      from (
        select distinct environment_id from messaging.automations a
        where not exists (select 1 from messaging.automation_secrets s where s.environment_id = a.environment_id)
        limit ${limit}
      ) a join ${environmentScopes} e on e.environment_id = a.environment_id
    `.execute(this.database.tables());
    for (const owner of rows) await this.#store(owner);
    return rows.length;
  }

  /** Stores the first secret of an environment that has none, in the open transaction. */
  async #store(owner: Owner): Promise<void> {
    const secret = this.box.seal(firstSecret(this.#masterKey, owner), secretContext(owner));
    const { environmentId, projectId } = owner;
    await this.database
      .tables<MessagingTables>()
      .insertInto('messaging.automation_secrets')
      .values({ environmentId, projectId, secret })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }

  #read(scope: ProjectScope): Promise<string> {
    return this.database.transaction(scope, async () => {
      const sealed = (await this.#sealed(scope)) ?? (await this.#store(scope), await this.#sealed(scope));
      if (sealed === undefined) throw new Error('The secret of the automations was not stored.');
      return this.box.open(sealed, secretContext(scope));
    });
  }

  async #sealed({ environmentId }: Owner): Promise<string | undefined> {
    const found = await this.database
      .tables<MessagingTables>()
      .selectFrom('messaging.automation_secrets')
      .select('secret')
      .where('environmentId', '=', environmentId)
      .executeTakeFirst();
    return found?.secret;
  }
}

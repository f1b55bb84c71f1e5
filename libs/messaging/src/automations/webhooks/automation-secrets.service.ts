import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { type Config, CONFIG, Database, SecretBox, type Sql } from '#platform';
import { automationSecret, firstSecret } from './automation-secret.js';

type Owner = Pick<ProjectScope, 'projectId' | 'environmentId'>;

/** What the webhooks of each environment's automations are signed with. It never changes, whatever the master key does. */
@Injectable()
export class AutomationSecrets {
  readonly #known = new Map<number, string>();
  readonly #masterKey: string;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(SecretBox) private readonly box: SecretBox,
    @Inject(CONFIG) { MASTER_KEY, MASTER_KEY_PREVIOUS }: Config,
  ) {
    this.#masterKey = MASTER_KEY_PREVIOUS ?? MASTER_KEY;
  }

  /** Written down when it is asked for the first time. */
  async of(scope: ProjectScope): Promise<string> {
    const { environmentId } = scope;
    const secret = this.#known.get(environmentId) ?? (await this.#read(scope));
    this.#known.set(environmentId, secret);
    return secret;
  }

  /** Writes it down for one that has none. */
  async begin(db: Sql, owner: Owner): Promise<void> {
    const sealed = this.box.seal(firstSecret(this.#masterKey, owner), automationSecret(owner));
    await sql`
      insert into messaging.automation_secrets (environment_id, project_id, secret)
      values (${owner.environmentId}, ${owner.projectId}, ${sealed}) on conflict do nothing
    `.execute(db);
  }

  #read(scope: ProjectScope): Promise<string> {
    return this.database.transaction(scope, async ({ db }) => {
      const found =
        (await readSecret(db, scope)) ?? (await this.begin(db, scope), await readSecret(db, scope));
      if (found === undefined) throw new Error('The secret of the automations was not written down.');
      return this.box.open(found, automationSecret(scope));
    });
  }
}

async function readSecret(db: Sql, { environmentId }: Owner): Promise<string | undefined> {
  const { rows } = await sql<{ secret: string }>`
    select secret from messaging.automation_secrets where environment_id = ${environmentId}
  `.execute(db);
  return rows[0]?.secret;
}

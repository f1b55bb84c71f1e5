import { Inject, Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { type Config, CONFIG, Database, SecretBox } from '#platform';
import type { MessagingTables } from '../../messaging-tables.js';
import { automationSecret, firstSecret } from './automation-secret.js';

type Owner = Pick<ProjectScope, 'projectId' | 'environmentId'>;

/** The secrets that sign the webhooks of each environment's automations. They stay when the master key changes. */
@Injectable()
export class AutomationSecrets {
  readonly #known = new Map<number, string>();
  readonly #masterKey: string;

  constructor(
    private readonly database: Database,
    private readonly box: SecretBox,
    @Inject(CONFIG) { MASTER_KEY, MASTER_KEY_PREVIOUS }: Config,
  ) {
    this.#masterKey = MASTER_KEY_PREVIOUS ?? MASTER_KEY;
  }

  /** Stored when it is asked for the first time. */
  async of(scope: ProjectScope): Promise<string> {
    const { environmentId } = scope;
    const secret = this.#known.get(environmentId) ?? (await this.#read(scope));
    this.#known.set(environmentId, secret);
    return secret;
  }

  /** Stores it for an environment that has none, in the open transaction. */
  async begin(owner: Owner): Promise<void> {
    const secret = this.box.seal(firstSecret(this.#masterKey, owner), automationSecret(owner));
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
      const sealed = (await this.#sealed(scope)) ?? (await this.begin(scope), await this.#sealed(scope));
      if (sealed === undefined) throw new Error('The secret of the automations was not stored.');
      return this.box.open(sealed, automationSecret(scope));
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

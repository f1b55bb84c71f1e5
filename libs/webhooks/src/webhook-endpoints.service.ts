import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, DomainValidationError, newId, NotFoundError, type ProjectScope } from '#kernel';
import { Database, OutgoingHttp, resealRows, type SealedRow, type SealedSecrets, SecretBox } from '#platform';
import {
  Endpoint,
  type EndpointPatch,
  type NewEndpoint,
  newSecret,
  secretContext,
  urlFault,
} from './endpoint.js';
import type { WebhookTables } from './webhook-tables.js';

/** The fields of an endpoint that may be shown. */
export type EndpointSummary = Pick<
  Endpoint,
  'id' | 'url' | 'description' | 'eventTypes' | 'status' | 'disabledReason' | 'createdAt' | 'updatedAt'
>;

type Environment = Pick<ProjectScope, 'environmentId'>;

/** The signing secrets of all projects' endpoints. */
const SIGNING_SECRETS = {
  contextOf: secretContext,
  sealedOtherwise: (prefix: string, limit: number) => sql<SealedRow<string>>`
    select id as key, project_id as "projectId", environment_id as "environmentId", array[secret, previous_secret] as boxes
    from webhooks.endpoints
    where not starts_with(secret, ${prefix}) or not starts_with(previous_secret, ${prefix})
    order by id limit ${limit}
  `,
  rewrite: (
    { key, environmentId, boxes: [oldSecret, oldPrevious] }: SealedRow<string>,
    [secret, previous]: SealedRow<string>['boxes'],
  ) => sql`
    update webhooks.endpoints set secret = ${secret}, previous_secret = ${previous}
    where environment_id = ${environmentId} and id = ${key}
      and secret = ${oldSecret} and previous_secret is not distinct from ${oldPrevious}
  `,
};

/** The endpoints of projects, which the operator manages. */
@Injectable()
export class WebhookEndpointsService implements SealedSecrets {
  constructor(
    private readonly database: Database,
    private readonly secrets: SecretBox,
    private readonly http: OutgoingHttp,
    private readonly clock: Clock,
  ) {}

  /** Returns the id, and the secret, which is shown this once. Throws DomainValidationError. */
  async create(scope: ProjectScope, wanted: NewEndpoint): Promise<{ id: string; secret: string }> {
    await this.#refuseUrl(wanted.url);
    const secret = newSecret();
    const endpoint = new Endpoint(newId(), scope, wanted, this.#seal(scope, secret), this.clock.now());
    await this.database.transaction(scope, async () => this.database.em.persist(endpoint));
    return { id: endpoint.id, secret };
  }

  /** Oldest first. */
  async list(scope: ProjectScope): Promise<EndpointSummary[]> {
    const { environmentId } = scope;
    const all = await this.database.transaction(scope, () =>
      this.database.em.find(Endpoint, { environmentId }, { orderBy: { id: 'asc' } }),
    );
    return all.map(summaryOf);
  }

  /** Throws NotFoundError, DomainValidationError. */
  async change(scope: ProjectScope, id: string, patch: EndpointPatch): Promise<void> {
    if (patch.url !== undefined) await this.#refuseUrl(patch.url);
    const now = this.clock.now();
    await this.database.transaction(scope, async () => {
      (await this.#lock(scope, id)).change(patch, now);
      if (patch.status === 'DISABLED') await this.#failPending(scope, id, 'The endpoint was disabled.', now);
    });
  }

  /**
   * Returns a new secret, shown this once. The previous one signs beside it for `overlapHours`, in which the receiver
   * can change over. Throws NotFoundError.
   */
  async rotateSecret(scope: ProjectScope, id: string, overlapHours: number): Promise<string> {
    const secret = newSecret();
    await this.database.transaction(scope, async () => {
      const endpoint = await this.#lock(scope, id);
      endpoint.rotateSecret(this.#seal(scope, secret), overlapHours, this.clock.now());
    });
    return secret;
  }

  /** Removes it with all of its deliveries. Throws NotFoundError. */
  async remove(scope: ProjectScope, id: string): Promise<void> {
    await this.database.transaction(scope, async () => {
      this.database.em.remove(await this.#lock(scope, id));
    });
  }

  /** Disables an endpoint, if it still exists, and fails its pending deliveries. */
  async disable(environment: Environment, id: string, reason: string): Promise<void> {
    const now = this.clock.now();
    await this.database.system(async () => {
      const endpoint = await this.#lockIfExists(environment, id);
      if (endpoint === null) return;
      endpoint.disable(reason, now);
      await this.#failPending(environment, id, reason, now);
    });
  }

  /** Secrets to sign with, the current one first. */
  secretsOf({
    secret,
    previousSecret,
    ...owner
  }: Pick<Endpoint, 'environmentId' | 'projectId' | 'secret' | 'previousSecret'>): string[] {
    const context = secretContext(owner);
    const sealed = previousSecret === null ? [secret] : [secret, previousSecret];
    return sealed.map((box) => this.secrets.open(box, context));
  }

  resealSecrets(limit: number): Promise<number> {
    return this.database.system(() => resealRows(this.database, this.secrets, SIGNING_SECRETS, limit));
  }

  #seal(scope: ProjectScope, secret: string): string {
    return this.secrets.seal(secret, secretContext(scope));
  }

  async #refuseUrl(url: string): Promise<void> {
    const fault = urlFault(url) ?? (await this.http.hostFault(url, { isForOperator: true }));
    if (fault !== null) throw new DomainValidationError({ url: fault });
  }

  async #lock(environment: Environment, id: string): Promise<Endpoint> {
    const endpoint = await this.#lockIfExists(environment, id);
    if (endpoint === null) throw new NotFoundError();
    return endpoint;
  }

  /** Locks it against changes, but not against new deliveries, whose foreign key is compatible with `no key update`. */
  async #lockIfExists({ environmentId }: Environment, id: string): Promise<Endpoint | null> {
    await this.database
      .tables<WebhookTables>()
      .selectFrom('webhooks.endpoints')
      .select('id')
      .where('environmentId', '=', environmentId)
      .where('id', '=', id)
      .forNoKeyUpdate()
      .execute();
    return this.database.em.findOne(Endpoint, { environmentId, id }, { refresh: true });
  }

  async #failPending({ environmentId }: Environment, id: string, reason: string, now: Date): Promise<void> {
    const tables = this.database.tables<WebhookTables>();
    const pending = tables
      .selectFrom('webhooks.deliveries')
      .select('id')
      .where('endpointId', '=', id)
      .where('environmentId', '=', environmentId)
      .where('state', '=', sql.lit('PENDING'))
      // The order in which outcomes are settled: one order of locks.
      .orderBy('id')
      .forUpdate();
    await tables
      .updateTable('webhooks.deliveries')
      .set({ state: 'FAILED', finishedAt: now, lastError: reason })
      .where('environmentId', '=', environmentId)
      .where('state', '=', sql.lit('PENDING'))
      .where('id', '=', sql<string>`any(array(${pending}))`)
      .execute();
  }
}

function summaryOf(endpoint: Endpoint): EndpointSummary {
  const { id, url, description, eventTypes, status, disabledReason, createdAt, updatedAt } = endpoint;
  return { id, url, description, eventTypes, status, disabledReason, createdAt, updatedAt };
}

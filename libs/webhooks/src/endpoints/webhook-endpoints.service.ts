import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import {
  type AnnouncementType,
  Clock,
  DomainValidationError,
  newId,
  NotFoundError,
  type ProjectScope,
} from '#kernel';
import { Database, OutgoingHttp, SecretBox, type Sql } from '#platform';
import { type Endpoint, type EndpointStatus, newSecret, urlFault } from './endpoint.js';
import { webhookSecret } from './webhook-secret.js';

const HOUR_MS = 3_600_000;

export interface NewEndpoint {
  readonly url: string;
  readonly description: string | null;
  /** Empty: all. */
  readonly eventTypes: readonly AnnouncementType[];
}

export type EndpointPatch = Partial<NewEndpoint & { readonly status: EndpointStatus }>;

/** A secret as it is stored, and whose it is. */
interface SealedEndpointSecrets {
  readonly environmentId: number;
  readonly projectId: number;
  readonly secret: string;
  readonly previousSecret: string | null;
}

/** The endpoints of projects, for the operator who keeps them. */
@Injectable()
export class WebhookEndpoints {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(SecretBox) private readonly secrets: SecretBox,
    @Inject(OutgoingHttp) private readonly http: OutgoingHttp,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** The id, and the secret, which is shown this once. Throws DomainValidationError. */
  async create(scope: ProjectScope, endpoint: NewEndpoint): Promise<{ id: string; secret: string }> {
    await this.#refuseUrl(endpoint.url);
    const id = newId();
    const secret = newSecret();
    const now = this.clock.now();
    await this.database.transaction(scope, ({ db }) =>
      sql`
        insert into webhooks.endpoints (id, environment_id, project_id, url, description, event_types, secret, status,
          created_at, updated_at)
        values (${id}, ${scope.environmentId}, ${scope.projectId}, ${endpoint.url}, ${endpoint.description},
          ${[...endpoint.eventTypes]}, ${this.#seal(scope, secret)}, 'ENABLED', ${now}, ${now})
      `.execute(db),
    );
    return { id, secret };
  }

  /** Oldest first. */
  async list(scope: ProjectScope): Promise<Endpoint[]> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<Endpoint>`
        select id, url, description, event_types as "eventTypes", status, disabled_reason as "disabledReason",
          created_at as "createdAt", updated_at as "updatedAt"
        from webhooks.endpoints where environment_id = ${scope.environmentId} order by id
      `.execute(db);
      return rows;
    });
  }

  /** Throws NotFoundError, DomainValidationError. */
  async change(scope: ProjectScope, id: string, patch: EndpointPatch): Promise<void> {
    if (patch.url !== undefined) await this.#refuseUrl(patch.url);
    const types = patch.eventTypes === undefined ? null : [...patch.eventTypes];
    const changed = sql`
      update webhooks.endpoints set url = coalesce(${patch.url ?? null}, url),
        description = case when ${patch.description !== undefined} then ${patch.description ?? null} else description end,
        event_types = coalesce(${types}::text[], event_types), status = coalesce(${patch.status ?? null}, status),
        disabled_reason = case when ${patch.status ?? null}::text is null then disabled_reason end,
        updated_at = ${this.clock.now()}
      where id = ${id} and environment_id = ${scope.environmentId}
    `;
    await this.database.transaction(scope, async ({ db }) => {
      await this.#update(scope, changed);
      if (patch.status === 'DISABLED') await this.#failWaiting(db, scope, id, 'The endpoint was disabled.');
    });
  }

  /**
   * A new secret, shown this once. The one before signs beside it for `overlapHours`, so that the receiver can change
   * over in that time. Throws NotFoundError.
   */
  async rotateSecret(scope: ProjectScope, id: string, overlapHours: number): Promise<string> {
    const secret = newSecret();
    const now = this.clock.now();
    await this.#update(
      scope,
      sql`
        update webhooks.endpoints set previous_secret = secret, secret = ${this.#seal(scope, secret)},
          previous_secret_until = ${new Date(now.getTime() + overlapHours * HOUR_MS)}, updated_at = ${now}
        where id = ${id} and environment_id = ${scope.environmentId}
      `,
    );
    return secret;
  }

  /** With all that it was told and what it still was to be told. Throws NotFoundError. */
  async remove(scope: ProjectScope, id: string): Promise<void> {
    await this.#update(
      scope,
      sql`delete from webhooks.endpoints where id = ${id} and environment_id = ${scope.environmentId}`,
    );
  }

  /** Tells it nothing more; what waits for it has failed. */
  async disable(scope: Pick<ProjectScope, 'environmentId'>, id: string, reason: string): Promise<void> {
    await this.database.system(async ({ db }) => {
      await sql`
        update webhooks.endpoints set status = 'DISABLED', disabled_reason = ${reason}, updated_at = ${this.clock.now()}
        where id = ${id} and environment_id = ${scope.environmentId} and status = 'ENABLED'
      `.execute(db);
      await this.#failWaiting(db, scope, id, reason);
    });
  }

  /** With which to sign, the current one first. */
  secretsOf({ secret, previousSecret, ...owner }: SealedEndpointSecrets): string[] {
    const context = webhookSecret(owner);
    const sealed = previousSecret === null ? [secret] : [secret, previousSecret];
    return sealed.map((box) => this.secrets.open(box, context));
  }

  async #failWaiting(
    db: Sql,
    { environmentId }: Pick<ProjectScope, 'environmentId'>,
    id: string,
    reason: string,
  ): Promise<void> {
    await sql`
      update webhooks.deliveries set state = 'FAILED', finished_at = ${this.clock.now()}, last_error = ${reason}
      where state = 'PENDING' and id = any(array(
        select id from webhooks.deliveries
        where endpoint_id = ${id} and environment_id = ${environmentId} and state = 'PENDING'
        -- as who settles some of them: one order of locks
        order by id for update
      ))
    `.execute(db);
  }

  #seal(scope: ProjectScope, secret: string): string {
    return this.secrets.seal(secret, webhookSecret(scope));
  }

  async #update(scope: ProjectScope, statement: ReturnType<typeof sql>): Promise<void> {
    const { numAffectedRows } = await this.database.transaction(scope, ({ db }) => statement.execute(db));
    if (numAffectedRows !== 1n) throw new NotFoundError();
  }

  async #refuseUrl(url: string): Promise<void> {
    const fault = urlFault(url) ?? (await this.http.hostFault(url));
    if (fault !== null) throw new DomainValidationError({ url: fault });
  }
}

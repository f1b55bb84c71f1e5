import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import {
  Clock,
  DomainValidationError,
  isUuid,
  newId,
  NotFoundError,
  type Page,
  type PageRequest,
  pageOfRows,
  type Place,
  type ProjectScope,
} from '#kernel';
import {
  currentTraceparent,
  Database,
  limitOf,
  NEWEST_FIRST,
  OutgoingHttp,
  type OutgoingRequest,
  postOutcome,
  openFirstRow,
  resealRows,
  type SealedRow,
  type CheckedSecrets,
  SecretBox,
  totalOf,
  webhookHeaders,
} from '#platform';
import {
  Endpoint,
  type EndpointPatch,
  type EventPattern,
  type NewEndpoint,
  newSecret,
  secretContext,
  urlFault,
} from './endpoint.js';
import { ENDPOINTS_CHANNEL } from './webhook-publisher.service.js';
import type { WebhookTables } from './webhook-tables.js';

/** An endpoint as it may be shown. */
export interface EndpointView extends Pick<
  Endpoint,
  'id' | 'url' | 'description' | 'status' | 'disabledReason' | 'createdAt' | 'updatedAt'
> {
  readonly events: readonly EventPattern[];
  /** Null when one secret signs. */
  readonly previousSecretUntil: Date | null;
}

type ShownEndpoint = Pick<Endpoint, Exclude<keyof EndpointView, 'events'> | 'eventTypes'>;

/** An endpoint with a new secret, which is shown this once. */
export type EndpointWithSecret = EndpointView & { readonly secret: string };

/** Answer of an endpoint to a test. */
export interface TestOutcome {
  /** The `webhook-id`. */
  readonly eventId: string;
  /** True for a 2xx. */
  readonly isAccepted: boolean;
  /** Null when there was no answer. */
  readonly status: number | null;
  readonly durationMs: number;
  /** Its beginning. */
  readonly body: string | null;
  /** Reason of a missing answer. */
  readonly error: string | null;
}

type Environment = Pick<ProjectScope, 'environmentId'>;

/** Each is asked of for every event: what a project may cost the others is bounded. */
const MOST_ENDPOINTS = 20;
const SHOWN_ANSWER = 1_000;

/** The signing secrets of all projects' endpoints. */
const SIGNING_SECRETS = {
  contextOf: secretContext,
  sealedOtherwise: (prefix: string, limit: number) => sql<SealedRow<string>>`
    select id as key, project_id, environment_id, array[secret, previous_secret] as boxes
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

/** Creates, changes, tests and removes the endpoints of projects. */
@Injectable()
export class WebhookEndpointsService implements CheckedSecrets {
  constructor(
    private readonly database: Database,
    private readonly secrets: SecretBox,
    private readonly http: OutgoingHttp,
    private readonly clock: Clock,
  ) {}

  /** Throws DomainValidationError. */
  async create(scope: ProjectScope, wanted: NewEndpoint): Promise<EndpointWithSecret> {
    await this.#refuseUrl(wanted.url);
    const secret = newSecret();
    const endpoint = new Endpoint(newId(), scope, wanted, this.#seal(scope, secret), this.clock.now());
    return this.database.transaction(scope, async () => {
      if ((await this.#countAndLock(scope)) >= MOST_ENDPOINTS)
        throw new DomainValidationError({ endpoints: `must be at most ${MOST_ENDPOINTS} in an environment` });
      this.database.em.persist(endpoint);
      this.database.notify(ENDPOINTS_CHANNEL);
      return { ...this.#view(endpoint), secret };
    });
  }

  /** Newest first. */
  list(scope: ProjectScope, request: PageRequest): Promise<Page<EndpointView>> {
    const all = sql`webhooks.endpoints p where p.environment_id = ${scope.environmentId}`;
    return this.database.read(scope, { isList: true }, async () => {
      const tables = this.database.tables();
      const { rows } = await sql<ShownEndpoint & { readonly place: Place }>`
        select p.id, p.url, p.description, p.event_types, p.status, p.disabled_reason, p.previous_secret_until,
          p.created_at, p.updated_at, ${NEWEST_FIRST.place} as place
        from ${all} and ${NEWEST_FIRST.isBehind(request)} order by ${NEWEST_FIRST.by} ${limitOf(request)}
      `.execute(tables);
      const counted = await sql<{ total: number }>`
        select ${totalOf(request, sql`(select count(*) from ${all})`)} as total
      `.execute(tables);
      const page = pageOfRows<ShownEndpoint>(rows, request, counted.rows[0]!.total);
      return { ...page, items: page.items.map((endpoint) => this.#view(endpoint)) };
    });
  }

  /** Throws NotFoundError. */
  async get(scope: ProjectScope, id: string): Promise<EndpointView> {
    return this.#view(await this.#find(scope, id));
  }

  /** Throws NotFoundError, DomainValidationError. */
  async change(scope: ProjectScope, id: string, patch: EndpointPatch): Promise<EndpointView> {
    if (patch.url !== undefined) {
      await this.#find(scope, id);
      await this.#refuseUrl(patch.url);
    }
    const now = this.clock.now();
    return this.database.transaction(scope, async () => {
      const endpoint = await this.#lock(scope, id);
      endpoint.change(patch, now);
      this.database.notify(ENDPOINTS_CHANNEL);
      if (patch.status === 'DISABLED') await this.#failPending(scope, id, 'The endpoint was disabled.', now);
      return this.#view(endpoint);
    });
  }

  /**
   * Sets a new secret. The previous one signs beside it for `overlapHours`, in which the receiver can change over; one before
   * that signs no more. Throws NotFoundError.
   */
  async rotateSecret(scope: ProjectScope, id: string, overlapHours: number): Promise<EndpointWithSecret> {
    const secret = newSecret();
    return this.database.transaction(scope, async () => {
      const endpoint = await this.#lock(scope, id);
      endpoint.rotateSecret(this.#seal(scope, secret), overlapHours, this.clock.now());
      return { ...this.#view(endpoint), secret };
    });
  }

  /**
   * Posts a signed `webhook.test` to an endpoint, be it enabled or not, and returns its answer, within 5 s. The test is in no
   * log, has no number, and changes nothing, whatever the answer. Throws NotFoundError.
   */
  async test(scope: ProjectScope, id: string): Promise<TestOutcome> {
    const endpoint = await this.#find(scope, id);
    const at = this.clock.now();
    const { environmentId, projectId, secret, previousSecret, previousSecretUntil: until } = endpoint;
    const secrets = this.secretsOf({
      environmentId,
      projectId,
      secret,
      previousSecret: until !== null && until > at ? previousSecret : null,
    });
    const event = {
      id: newId(),
      type: 'webhook.test',
      occurredAt: at,
      sequence: 0,
      data: { endpointId: id },
    };
    const startedAt = performance.now();
    const post = webhookPost({ url: endpoint.url, secrets, at }, event);
    const { verdict, answer, fault } = await postOutcome(this.http.request(post));
    return {
      eventId: event.id,
      isAccepted: verdict === 'taken',
      status: answer?.status ?? null,
      durationMs: Math.round(performance.now() - startedAt),
      body: answer === null ? null : beginningOf(answer.body, SHOWN_ANSWER),
      error: fault?.message ?? null,
    };
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

  checkSecrets(): Promise<void> {
    return this.database.system(() => openFirstRow(this.database, this.secrets, SIGNING_SECRETS));
  }

  #seal(scope: ProjectScope, secret: string): string {
    return this.secrets.seal(secret, secretContext(scope));
  }

  async #refuseUrl(url: string): Promise<void> {
    const fault = urlFault(url) ?? (await this.http.hostFault(url));
    if (fault !== null) throw new DomainValidationError({ url: fault });
  }

  /** Number of the environment's endpoints; nobody adds one until the transaction ends. */
  async #countAndLock({ environmentId }: ProjectScope): Promise<number> {
    await sql`select pg_advisory_xact_lock(hashtextextended('webhook endpoints ' || ${environmentId}::text, 0))`.execute(
      this.database.tables(),
    );
    return this.database.em.count(Endpoint, { environmentId });
  }

  #find(scope: ProjectScope, id: string): Promise<Endpoint> {
    return this.database.transaction(scope, async () => {
      const { environmentId } = scope;
      const endpoint = isUuid(id) ? await this.database.em.findOne(Endpoint, { environmentId, id }) : null;
      if (endpoint === null) throw new NotFoundError();
      return endpoint;
    });
  }

  async #lock(environment: Environment, id: string): Promise<Endpoint> {
    const endpoint = isUuid(id) ? await this.#lockIfExists(environment, id) : null;
    if (endpoint === null) throw new NotFoundError();
    return endpoint;
  }

  #view(endpoint: ShownEndpoint): EndpointView {
    const { id, url, description, eventTypes, status, disabledReason, createdAt, updatedAt } = endpoint;
    const { previousSecretUntil: until } = endpoint;
    return {
      id,
      url,
      description,
      events: eventTypes.length === 0 ? ['*'] : eventTypes,
      status,
      disabledReason,
      previousSecretUntil: until !== null && until > this.clock.now() ? until : null,
      createdAt,
      updatedAt,
    };
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

/** An event as an endpoint is posted it. */
export interface PostedEvent {
  readonly id: string;
  readonly type: string;
  readonly occurredAt: Date;
  /** 0 for a test, which has no number. */
  readonly sequence: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The request that tells an event to a URL, signed with each of the secrets; its receiver may carry on the trace that it is in. */
export function webhookPost(
  { url, secrets, at }: { readonly url: string; readonly secrets: readonly string[]; readonly at: Date },
  { id, type, occurredAt, sequence, data }: PostedEvent,
): OutgoingRequest {
  const body = JSON.stringify({ type, timestamp: occurredAt.toISOString(), sequence, data });
  const traceparent = currentTraceparent();
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'Mailwright-Webhooks/1',
    ...(traceparent !== null && { traceparent }),
    ...webhookHeaders(secrets, { id, at, body }),
  };
  return { method: 'POST', url, headers, body };
}

/** The first `length` characters of an answer, as text that PostgreSQL can keep. */
export function beginningOf(body: string, length: number): string {
  return body.slice(0, length).replaceAll('\u0000', '').toWellFormed();
}

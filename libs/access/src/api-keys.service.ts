import { randomInt } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import {
  Clock,
  DomainValidationError,
  type Environment,
  isUuid,
  newId,
  NotFoundError,
  type Page,
  type PageRequest,
  type ProjectScope,
} from '#kernel';
import { CONFIG, type Config, Database, ListOrder, NEWEST_FIRST } from '#platform';
import type { AccessTables } from './access-tables.js';
import {
  ApiKey,
  type ApiKeyChanges,
  type ApiKeyStatus,
  KeyEndedError,
  LastManagingKeyError,
  makeApiKey,
  type NewApiKey,
  refuseBeyond,
  statusOf,
  withGrantsOf,
} from './api-key.js';
import { API_KEYS_CHANNEL } from './key-authenticator.js';
import { EnvironmentsQuery } from './project.repository.js';

/** All that may be shown of a key. */
export type ApiKeyView = Omit<ApiKey, 'environmentId' | 'keyHash' | 'change' | 'revoke' | 'replace'> & {
  readonly status: ApiKeyStatus;
};

/** A new key, with its text. */
export type CreatedApiKey = ApiKeyView & {
  /** The key itself. It is stored nowhere and cannot be shown again. */
  readonly key: string;
};

/** The same for the operator, who sees all projects' keys. */
export type ApiKeySummary = ApiKeyView & {
  readonly tenantKey: string;
  readonly projectId: number;
  readonly projectKey: string;
  readonly environment: Environment;
};

type AskingKey = ReturnType<typeof termsOf>;

/** Usable keys that programs may have in an environment: a leaked one cannot make any number. Rotation has room for as many again. */
const MOST_KEYS = 100;

const SHOWN = [
  'k.id',
  'k.name',
  'k.prefix',
  'k.lastFour',
  'k.scopes',
  'k.rateLimitPerMinute',
  'k.allowedNetworks',
  'k.createdBy',
  'k.replacedBy',
  'k.lastUsedAt',
  'k.createdAt',
  'k.updatedAt',
  'k.expiresAt',
  'k.revokedAt',
] as const;

const OF_PROJECTS = ['t.tenantKey', 'p.projectKey', 'p.id as projectId', 'e.environment', ...SHOWN] as const;

const ALL_NEWEST_FIRST = new ListOrder([
  ['k.created_at', 'timestamptz'],
  ['k.id', 'uuid'],
]);

/**
 * API keys, managed by the operator, and by keys with `keys:manage` in their own environment. `by` is the id of the key that asks:
 * it gives no more than it has itself, or a `DomainValidationError` names what is too much; one that has ended meanwhile is a
 * `KeyEndedError`. Without `by` the operator asks.
 */
@Injectable()
export class ApiKeysService {
  constructor(
    private readonly database: Database,
    private readonly environments: EnvironmentsQuery,
    @Inject(CONFIG) private readonly config: Pick<Config, 'RATE_LIMIT_PER_MINUTE'>,
    private readonly clock: Clock,
  ) {}

  /** Makes a key for the environment of `scope`; what is left out it gets from the key that asks. Throws `DomainValidationError`. */
  create(scope: ProjectScope, wanted: NewApiKey, by: string | null = null): Promise<CreatedApiKey> {
    return this.#changing(scope, by, async (asking, now) => {
      if (asking !== null) await this.#refuseMoreThan(MOST_KEYS, scope, now);
      return this.#issue(scope, asking === null ? wanted : withGrantsOf(asking, wanted), asking, now);
    });
  }

  /** Throws `NotFoundError`, `DomainValidationError`. */
  change(
    scope: ProjectScope,
    id: string,
    changes: ApiKeyChanges,
    by: string | null = null,
  ): Promise<ApiKeyView> {
    return this.#changing(scope, by, async (asking, now) => {
      const key = await this.#find(scope, id);
      key.change(changes, now);
      this.#refuseBeyond(asking, key);
      this.#tell(key);
      return shown(key, now);
    });
  }

  /**
   * Makes another key with the same grants and end; the one before ends after `overlapHours`. Throws `NotFoundError`,
   * `InvalidStateError` unless the key is ACTIVE.
   */
  rotate(
    scope: ProjectScope,
    id: string,
    overlapHours: number,
    by: string | null = null,
  ): Promise<CreatedApiKey> {
    return this.#changing(scope, by, async (asking, now) => {
      const key = await this.#find(scope, id);
      this.#refuseBeyond(asking, key);
      if (asking !== null && overlapHours > 0) await this.#refuseMoreThan(2 * MOST_KEYS, scope, now);
      const [terms, successorId] = [termsOf(key), newId()];
      key.replace(successorId, overlapHours, now);
      this.#tell(key);
      return this.#issue(scope, terms, asking, now, successorId);
    });
  }

  /**
   * Revokes a key for good, and returns since when; every instance refuses it within five seconds. Revoking again changes
   * nothing. Throws `NotFoundError`, and `LastManagingKeyError` where a key asks.
   */
  revoke(scope: ProjectScope, id: string, by: string | null = null): Promise<Date> {
    return this.#changing(scope, by, async (asking, now) => {
      const key = await this.#find(scope, id);
      if (asking !== null && (await this.#isLastManaging(scope, key, now))) throw new LastManagingKeyError();
      this.#tell(key);
      return key.revoke(now);
    });
  }

  /** The environment of a key, for the operator. Throws `NotFoundError`. */
  async scopeOf(id: string): Promise<ProjectScope> {
    const key = isUuid(id)
      ? await this.database.system(() => this.database.em.findOne(ApiKey, { id }))
      : null;
    const scope = key === null ? null : await this.environments.find(key.environmentId);
    if (scope === null) throw new NotFoundError();
    return scope;
  }

  /** Throws `NotFoundError`. */
  get(scope: ProjectScope, id: string): Promise<ApiKeyView> {
    return this.database.transaction(scope, async () => shown(await this.#find(scope, id), this.clock.now()));
  }

  /** An environment's keys, newest first. */
  async page({ environmentId, ...scope }: ProjectScope, asked: PageRequest): Promise<Page<ApiKeyView>> {
    const now = this.clock.now();
    const page = await this.database.read({ environmentId, ...scope }, { isList: true }, () => {
      const keys = this.database
        .tables<AccessTables>()
        .selectFrom('access.api_keys as k')
        .where('k.environmentId', '=', environmentId);
      return NEWEST_FIRST.page(keys.select(SHOWN), keys, asked);
    });
    return { ...page, items: page.items.map((key) => ({ ...key, status: statusOf(key, now) })) };
  }

  /** Every project's keys, or one project's; newest first. */
  list(projectId?: number): Promise<ApiKeySummary[]> {
    const now = this.clock.now();
    return this.database.system(async () => {
      const keys = this.#ofProjects(projectId)
        .select(OF_PROJECTS)
        .orderBy('k.createdAt', 'desc')
        .orderBy('k.id', 'desc');
      return (await keys.execute()).map((key) => ({ ...key, status: statusOf(key, now) }));
    });
  }

  /** A page of them. */
  pageOfAll(projectId: number | undefined, asked: PageRequest): Promise<Page<ApiKeySummary>> {
    const now = this.clock.now();
    return this.database.system(async () => {
      const keys = this.#ofProjects(projectId);
      const page = await ALL_NEWEST_FIRST.page(keys.select(OF_PROJECTS), keys, asked);
      return { ...page, items: page.items.map((key) => ({ ...key, status: statusOf(key, now) })) };
    });
  }

  #ofProjects(projectId: number | undefined) {
    const keys = this.database
      .tables<AccessTables>()
      .selectFrom('access.api_keys as k')
      .innerJoin('access.project_environments as e', 'e.id', 'k.environmentId')
      .innerJoin('access.projects as p', 'p.id', 'e.projectId')
      .innerJoin('access.tenants as t', 't.id', 'p.tenantId');
    return projectId === undefined ? keys : keys.where('p.id', '=', projectId);
  }

  /** Runs `work` while nothing else changes keys of the environment: what it finds holds until it is done. */
  #changing<T>(
    scope: ProjectScope,
    by: string | null,
    work: (asking: AskingKey | null, now: Date) => Promise<T>,
  ): Promise<T> {
    const changing = async () => {
      const lock = sql`select pg_advisory_xact_lock(hashtextextended('api keys ' || ${scope.environmentId}::text, 0))`;
      await lock.execute(this.database.tables());
      const now = this.clock.now();
      if (by === null) return work(null, now);
      const asking = await this.#find(scope, by);
      if (['REVOKED', 'EXPIRED'].includes(statusOf(asking, now))) throw new KeyEndedError();
      // As it is before `work`, which may change this very key.
      return work(termsOf(asking), now);
    };
    return by === null ? this.database.system(changing) : this.database.transaction(scope, changing);
  }

  async #find({ environmentId }: ProjectScope, id: string): Promise<ApiKey> {
    const key = isUuid(id) ? await this.database.em.findOne(ApiKey, { id, environmentId }) : null;
    if (key === null) throw new NotFoundError();
    return key;
  }

  #issue(
    { environment, environmentId }: ProjectScope,
    wanted: NewApiKey,
    asking: AskingKey | null,
    now: Date,
    id = newId(),
  ): CreatedApiKey {
    const key = makeApiKey(environment, randomInt);
    const made = new ApiKey({ id, environmentId, key, createdBy: asking?.id ?? null }, wanted, now);
    this.#refuseBeyond(asking, made);
    this.database.em.persist(made);
    return { ...shown(made, now), key };
  }

  #refuseBeyond(asking: AskingKey | null, key: ApiKey): void {
    if (asking !== null) refuseBeyond(asking, key, this.config.RATE_LIMIT_PER_MINUTE);
  }

  async #refuseMoreThan(most: number, scope: ProjectScope, now: Date): Promise<void> {
    const { count } = await this.#usable(scope, now)
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow();
    if (count >= most)
      throw new DomainValidationError({
        apiKeys: `must be at most ${most} usable ones in an environment: revoke those that nobody needs`,
      });
  }

  async #isLastManaging(scope: ProjectScope, key: ApiKey, now: Date): Promise<boolean> {
    const isUsable = ['ACTIVE', 'REPLACED'].includes(statusOf(key, now));
    if (!isUsable || !key.scopes.includes('keys:manage')) return false;
    const other = await this.#usable(scope, now)
      .select('k.id')
      .where('k.id', '!=', key.id)
      .where('k.replacedBy', 'is', null)
      .where(sql<boolean>`'keys:manage' = any(k.scopes)`)
      .executeTakeFirst();
    return other === undefined;
  }

  #usable({ environmentId }: ProjectScope, now: Date) {
    return this.database
      .tables<AccessTables>()
      .selectFrom('access.api_keys as k')
      .where('k.environmentId', '=', environmentId)
      .where('k.revokedAt', 'is', null)
      .where((k) => k.or([k('k.expiresAt', 'is', null), k('k.expiresAt', '>', now)]));
  }

  /** Has every instance look the key up anew. */
  #tell({ keyHash }: ApiKey): void {
    this.database.notify(API_KEYS_CHANNEL, keyHash.toString('hex'));
  }
}

/** A copy of what a key may do, and until when. */
function termsOf({ id, name, scopes, expiresAt, rateLimitPerMinute, allowedNetworks }: ApiKey) {
  return { id, name, scopes, expiresAt, rateLimitPerMinute, allowedNetworks };
}

function shown({ environmentId: _environment, keyHash: _hash, ...key }: ApiKey, now: Date): ApiKeyView {
  return { ...key, status: statusOf(key, now) };
}

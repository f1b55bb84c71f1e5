import { hkdfSync } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import type { Config } from '../../config.js';
import { present, presentAnd } from '../../database/clock.js';
import { Database } from '../../database/database.js';
import { named } from '../../database/statement.js';
import { decrypt, encrypt } from '../../secrets/secret-box.js';

/** The answer that a repeated request gets again. */
export interface StoredAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export type MasterKeys = Pick<Config, 'MASTER_KEY' | 'MASTER_KEY_PREVIOUS'>;

/**
 * Seal of a stored answer, whose personal data may be erased meanwhile: only the client's idempotency key completes its key.
 * One from before a change of the master key opens as long as the previous one is configured.
 */
export class AnswerSeal {
  readonly #key: Buffer;
  readonly #previousKey: Buffer | null;

  constructor({ MASTER_KEY, MASTER_KEY_PREVIOUS }: MasterKeys, apiKeyId: string, idempotencyKey: string) {
    const derive = (masterKey: string) =>
      Buffer.from(hkdfSync('sha256', masterKey, apiKeyId, `idempotency:${idempotencyKey}`, 32));
    this.#key = derive(MASTER_KEY);
    this.#previousKey = MASTER_KEY_PREVIOUS === undefined ? null : derive(MASTER_KEY_PREVIOUS);
  }

  seal(answer: StoredAnswer): string {
    return encrypt(this.#key, JSON.stringify(answer)).toString('base64');
  }

  open(sealed: string): StoredAnswer {
    return JSON.parse(this.#decrypt(Buffer.from(sealed, 'base64'))) as StoredAnswer;
  }

  #decrypt(sealed: Buffer): string {
    try {
      return decrypt(this.#key, sealed);
    } catch (error) {
      if (this.#previousKey === null) throw error;
      return decrypt(this.#previousKey, sealed);
    }
  }
}

/** The request of a key, which is good for one API key, method and path. */
export interface IdempotentRequest {
  readonly scope: ProjectScope;
  readonly apiKeyId: string;
  readonly method: string;
  /** Digests of path and key, which may hold addresses. */
  readonly pathDigest: string;
  readonly keyDigest: string;
}

/** The right to run the request until `lockedUntil`, which also tells this run from a later one. */
export interface Lease {
  readonly request: IdempotentRequest;
  readonly lockedUntil: Date;
  /** The beginning of its first run; later runs that take over keep it. */
  readonly since: Date;
}

export type Acquisition =
  | { readonly kind: 'acquired'; readonly lease: Lease }
  | { readonly kind: 'running'; readonly bodyHash: Buffer }
  | { readonly kind: 'answered'; readonly bodyHash: Buffer; readonly sealedAnswer: string };

interface StoredRow {
  readonly bodyHash: Buffer;
  readonly status: number | null;
  readonly body: string | null;
}

/** A request whose process died is taken over by the first retry after so long. */
const LOCKED_FOR_MS = 4_000;
const KEPT_FOR_MS = 24 * 60 * 60_000;

/** True when a run before this one died, perhaps after it had done its work: a first run begins as its lock does. */
export const isTakenOver = ({ since, lockedUntil }: Lease): boolean =>
  lockedUntil.getTime() - since.getTime() > LOCKED_FOR_MS;

/** The hash of a body that is still arriving. It agrees with every other one. */
export const UNKNOWN_HASH = Buffer.alloc(0);

/** The rows behind `Idempotency-Key`. Each call is a transaction of its own: none is open while the handler runs. */
@Injectable()
export class IdempotencyKeyRepository {
  constructor(private readonly database: Database) {}

  /** Takes the key, or tells who has it. A lock whose process died is taken over when it runs out. */
  async acquire(request: IdempotentRequest, bodyHash: Buffer): Promise<Acquisition> {
    const { scope, apiKeyId, method, pathDigest, keyDigest } = request;
    const [lock] = await this.database.write(
      scope,
      sql<{ readonly lockedUntil: Date; readonly createdAt: Date }>`${named('take_idempotency_key')}
        insert into platform.idempotency_keys as k
          (environment_id, api_key_id, method, path, key, body_hash, locked_until, created_at, expires_at)
        values (${scope.environmentId}, ${apiKeyId}, ${method}, ${pathDigest}, ${keyDigest}, ${bodyHash},
          ${presentAnd(LOCKED_FOR_MS)}, ${present}, ${presentAnd(KEPT_FOR_MS)})
        on conflict (environment_id, api_key_id, method, path, key) do update
          set body_hash = excluded.body_hash, status = null, body = null, locked_until = excluded.locked_until,
            created_at = case when k.expires_at <= excluded.created_at then excluded.created_at else k.created_at end,
            expires_at = case when k.expires_at <= excluded.created_at then excluded.expires_at else k.expires_at end
          where k.expires_at <= excluded.created_at
            or (k.status is null and k.locked_until <= excluded.created_at
              and k.body_hash in (excluded.body_hash, ${UNKNOWN_HASH}))
        returning locked_until, created_at`,
    );
    if (lock !== undefined)
      return {
        kind: 'acquired',
        lease: { request, lockedUntil: lock.lockedUntil, since: lock.createdAt },
      };
    return this.database.read(scope, {}, async () => {
      const { rows } = await sql<StoredRow>`
        select body_hash, status, body from platform.idempotency_keys where ${this.#isRow(request)}`.execute(
        this.database.tables(),
      );
      const [row] = rows;
      if (row === undefined || row.status === null || row.body === null) {
        return { kind: 'running', bodyHash: row?.bodyHash ?? UNKNOWN_HASH };
      }
      return { kind: 'answered', bodyHash: row.bodyHash, sealedAnswer: row.body };
    });
  }

  /** Moves the end of the lock, for a handler that takes long; null when the lock is lost. */
  async renew(lease: Lease): Promise<Lease | null> {
    const [lock] = await this.database.write(
      lease.request.scope,
      sql<{ readonly lockedUntil: Date }>`
        update platform.idempotency_keys set locked_until = ${presentAnd(LOCKED_FOR_MS)}
        where ${this.#isHeld(lease)} returning locked_until`,
    );
    return lock === undefined ? null : { ...lease, lockedUntil: lock.lockedUntil };
  }

  /** Keeps the answer for repetitions of the request. */
  async complete(lease: Lease, bodyHash: Buffer, status: number, sealedAnswer: string): Promise<void> {
    await this.database.write(
      lease.request.scope,
      sql`${named('complete_idempotency_key')}
        update platform.idempotency_keys set status = ${status}, body = ${sealedAnswer}, body_hash = ${bodyHash}
        where ${this.#isHeld(lease)}`,
    );
  }

  /** Lets the next run take the request over at once, whatever its body. */
  async leave(lease: Lease): Promise<void> {
    await this.database.write(
      lease.request.scope,
      sql`update platform.idempotency_keys set locked_until = ${present}, body_hash = ${UNKNOWN_HASH} where ${this.#isHeld(lease)}`,
    );
  }

  /** Forgets the key, so that the request can be made anew. */
  async release(lease: Lease): Promise<void> {
    await this.database.write(
      lease.request.scope,
      sql`delete from platform.idempotency_keys where ${this.#isHeld(lease)}`,
    );
  }

  #isRow({ scope, apiKeyId, method, pathDigest, keyDigest }: IdempotentRequest) {
    return sql`environment_id = ${scope.environmentId} and api_key_id = ${apiKeyId} and method = ${method}
      and path = ${pathDigest} and key = ${keyDigest}`;
  }

  #isHeld({ request, lockedUntil }: Lease) {
    return sql`${this.#isRow(request)} and status is null and locked_until = ${lockedUntil}`;
  }
}

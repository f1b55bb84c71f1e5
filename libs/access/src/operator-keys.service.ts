import { randomInt } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Clock, isUuid, newId, NotFoundError, OPERATOR_SCOPES } from '#kernel';
import { auditedSettings, AuditTrail, Database } from '#platform';
import type { AccessTables } from './access-tables.js';
import {
  type ApiKeyStatus,
  displayParts,
  hashApiKey,
  keyFaults,
  makeApiKey,
  networksOf,
  type NewApiKey,
  refuse,
  statusOf,
} from './api-key.js';
import { API_KEYS_CHANNEL } from './key-authenticator.js';

/** Terms of a new key of the operator's; `scopes` are names of OPERATOR_SCOPES. */
export type NewOperatorKey = Omit<NewApiKey, 'rateLimitPerMinute'>;

/** All that may be shown of an operator key. */
export interface OperatorKeyView {
  readonly id: string;
  readonly name: string;
  readonly lastFour: string;
  readonly scopes: readonly string[];
  readonly allowedNetworks: readonly string[];
  readonly status: ApiKeyStatus;
  readonly lastUsedAt: Date | null;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
}

const SHOWN = [
  'id',
  'name',
  'lastFour',
  'scopes',
  'allowedNetworks',
  'lastUsedAt',
  'createdAt',
  'expiresAt',
  'revokedAt',
] as const;

/** Keys of the operator's API, made and revoked by the command line alone. */
@Injectable()
export class OperatorKeysService {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Makes a key, whose text is stored nowhere and cannot be shown again. Throws `DomainValidationError`. */
  create(wanted: NewOperatorKey): Promise<OperatorKeyView & { readonly key: string }> {
    const now = this.clock.now();
    refuse(keyFaults(wanted, now, OPERATOR_SCOPES));
    const key = makeApiKey('OP', randomInt);
    const row = {
      id: newId(),
      name: wanted.name.trim(),
      lastFour: displayParts(key).lastFour,
      scopes: [...new Set(wanted.scopes)],
      allowedNetworks: networksOf(wanted),
      lastUsedAt: null,
      createdAt: now,
      expiresAt: wanted.expiresAt ?? null,
      revokedAt: null,
    };
    return this.database.system(async () => {
      await this.#keys
        .insertInto('access.operator_keys')
        .values({ ...row, keyHash: hashApiKey(key) })
        .execute();
      AuditTrail.current?.changes(null, auditedSettings(row));
      return { ...row, status: 'ACTIVE', key };
    });
  }

  /** All keys, newest first. */
  list(): Promise<OperatorKeyView[]> {
    const now = this.clock.now();
    return this.database.system(async () => {
      const rows = await this.#keys
        .selectFrom('access.operator_keys')
        .select(SHOWN)
        .orderBy('createdAt', 'desc')
        .orderBy('id', 'desc')
        .execute();
      return rows.map((row) => ({ ...row, status: statusOf({ ...row, replacedBy: null }, now) }));
    });
  }

  /** Revokes a key for good, and returns since when; every api refuses it within five seconds. Throws `NotFoundError`. */
  revoke(id: string): Promise<Date> {
    const now = this.clock.now();
    return this.database.system(async () => {
      const revoked = isUuid(id)
        ? await this.#keys
            .updateTable('access.operator_keys')
            .set((key) => ({ revokedAt: key.fn.coalesce('revokedAt', key.val(now)) }))
            .where('id', '=', id)
            .returning(['keyHash', 'revokedAt'])
            .executeTakeFirst()
        : undefined;
      if (revoked?.revokedAt == null) throw new NotFoundError();
      AuditTrail.current?.changes({ keyId: id }, { keyId: id, revokedAt: revoked.revokedAt });
      this.database.notify(API_KEYS_CHANNEL, revoked.keyHash.toString('hex'));
      return revoked.revokedAt;
    });
  }

  /** True while a key can be used: for answers that go on and on. */
  isUsable(id: string): Promise<boolean> {
    const now = this.clock.now();
    return this.database.system(async () => {
      const found = await this.#keys
        .selectFrom('access.operator_keys')
        .select('id')
        .where('id', '=', id)
        .where('revokedAt', 'is', null)
        .where((key) => key.or([key('expiresAt', 'is', null), key('expiresAt', '>', now)]))
        .executeTakeFirst();
      return found !== undefined;
    });
  }

  get #keys() {
    return this.database.tables<AccessTables>();
  }
}

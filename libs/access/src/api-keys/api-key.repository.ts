import { LockMode } from '@mikro-orm/postgresql';
import { Injectable } from '@nestjs/common';
import { isUuid, NotFoundError } from '#kernel';
import { Database } from '#platform';
import { ApiKey } from './api-key.js';

/** Reads and writes API keys in the open transaction of the system. */
@Injectable()
export class ApiKeyRepository {
  constructor(private readonly database: Database) {}

  add(key: ApiKey): void {
    this.database.em.persist(key);
  }

  /** The key, kept from others until the transaction ends, or `NotFoundError`. */
  async lock(id: string): Promise<ApiKey> {
    const lockMode = LockMode.PESSIMISTIC_WRITE;
    const key = isUuid(id) ? await this.database.em.findOne(ApiKey, { id }, { lockMode }) : null;
    if (key === null) throw new NotFoundError();
    return key;
  }
}

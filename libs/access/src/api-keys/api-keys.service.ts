import { randomInt } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Clock, newId, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { ApiKey, type NewApiKey } from './api-key.js';
import { ApiKeyRepository } from './api-key.repository.js';
import { makeApiKey } from './api-key-text.js';
import { API_KEYS_CHANNEL } from './key-authenticator.js';

export interface CreatedApiKey {
  readonly id: string;
  /** The key itself. It is stored nowhere and cannot be shown again. */
  readonly key: string;
}

/** Makes and withdraws API keys, as the operator asks. */
@Injectable()
export class ApiKeysService {
  constructor(
    private readonly database: Database,
    private readonly keys: ApiKeyRepository,
    private readonly clock: Clock,
  ) {}

  /** Makes a key for the environment of `scope`, or throws `DomainValidationError`. */
  async create(scope: ProjectScope, wanted: NewApiKey): Promise<CreatedApiKey> {
    const key = makeApiKey(scope.environment, randomInt);
    const stored = new ApiKey(
      { id: newId(), environmentId: scope.environmentId, key },
      wanted,
      this.clock.now(),
    );
    await this.database.system(async () => this.keys.add(stored));
    return { id: stored.id, key };
  }

  /**
   * Withdraws a key for good; every instance refuses it within five seconds. Tells since when it is
   * withdrawn: a second time changes nothing. Throws `NotFoundError` when there is no such key.
   */
  async revoke(id: string): Promise<Date> {
    return this.database.system(async () => {
      const key = await this.keys.lock(id);
      this.database.notify(API_KEYS_CHANNEL, key.keyHash.toString('hex'));
      return key.revoke(this.clock.now());
    });
  }
}

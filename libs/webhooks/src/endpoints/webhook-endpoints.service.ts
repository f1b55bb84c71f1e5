import { Injectable } from '@nestjs/common';
import { Clock, DomainValidationError, newId, type ProjectScope } from '#kernel';
import { Database, OutgoingHttp, SecretBox } from '#platform';
import { EndpointRepository } from './endpoint.repository.js';
import { Endpoint, type EndpointPatch, type NewEndpoint, newSecret, urlFault } from './endpoint.js';
import { webhookSecret } from './webhook-secret.js';

/** All that may be shown of an endpoint. */
export type EndpointSummary = Pick<
  Endpoint,
  'id' | 'url' | 'description' | 'eventTypes' | 'status' | 'disabledReason' | 'createdAt' | 'updatedAt'
>;

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
    private readonly database: Database,
    private readonly endpoints: EndpointRepository,
    private readonly secrets: SecretBox,
    private readonly http: OutgoingHttp,
    private readonly clock: Clock,
  ) {}

  /** The id, and the secret, which is shown this once. Throws DomainValidationError. */
  async create(scope: ProjectScope, wanted: NewEndpoint): Promise<{ id: string; secret: string }> {
    await this.#refuseUrl(wanted.url);
    const secret = newSecret();
    const endpoint = new Endpoint(newId(), scope, wanted, this.#seal(scope, secret), this.clock.now());
    await this.database.transaction(scope, async () => this.endpoints.add(endpoint));
    return { id: endpoint.id, secret };
  }

  /** Oldest first. */
  async list(scope: ProjectScope): Promise<EndpointSummary[]> {
    const all = await this.database.transaction(scope, () => this.endpoints.all(scope));
    return all.map(summaryOf);
  }

  /** Throws NotFoundError, DomainValidationError. */
  async change(scope: ProjectScope, id: string, patch: EndpointPatch): Promise<void> {
    if (patch.url !== undefined) await this.#refuseUrl(patch.url);
    const now = this.clock.now();
    await this.database.transaction(scope, async () => {
      (await this.endpoints.lock(scope, id)).change(patch, now);
      if (patch.status === 'DISABLED')
        await this.endpoints.failWaiting(scope, id, 'The endpoint was disabled.', now);
    });
  }

  /**
   * A new secret, shown this once. The one before signs beside it for `overlapHours`, so that the receiver can change
   * over in that time. Throws NotFoundError.
   */
  async rotateSecret(scope: ProjectScope, id: string, overlapHours: number): Promise<string> {
    const secret = newSecret();
    await this.database.transaction(scope, async () => {
      const endpoint = await this.endpoints.lock(scope, id);
      endpoint.rotateSecret(this.#seal(scope, secret), overlapHours, this.clock.now());
    });
    return secret;
  }

  /** With all that it was told and what it still was to be told. Throws NotFoundError. */
  async remove(scope: ProjectScope, id: string): Promise<void> {
    await this.database.transaction(scope, async () => {
      this.endpoints.remove(await this.endpoints.lock(scope, id));
    });
  }

  /** Tells it nothing more, if it is still there; what waits for it has failed. */
  async disable(scope: Pick<ProjectScope, 'environmentId'>, id: string, reason: string): Promise<void> {
    const now = this.clock.now();
    await this.database.system(async () => {
      const endpoint = await this.endpoints.lockIfThere(scope, id);
      if (endpoint === null) return;
      endpoint.disable(reason, now);
      await this.endpoints.failWaiting(scope, id, reason, now);
    });
  }

  /** With which to sign, the current one first. */
  secretsOf({ secret, previousSecret, ...owner }: SealedEndpointSecrets): string[] {
    const context = webhookSecret(owner);
    const sealed = previousSecret === null ? [secret] : [secret, previousSecret];
    return sealed.map((box) => this.secrets.open(box, context));
  }

  #seal(scope: ProjectScope, secret: string): string {
    return this.secrets.seal(secret, webhookSecret(scope));
  }

  async #refuseUrl(url: string): Promise<void> {
    const fault = urlFault(url) ?? (await this.http.hostFault(url, { isForOperator: true }));
    if (fault !== null) throw new DomainValidationError({ url: fault });
  }
}

function summaryOf(endpoint: Endpoint): EndpointSummary {
  const { id, url, description, eventTypes, status, disabledReason, createdAt, updatedAt } = endpoint;
  return { id, url, description, eventTypes, status, disabledReason, createdAt, updatedAt };
}

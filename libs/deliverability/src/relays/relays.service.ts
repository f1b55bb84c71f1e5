import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, DomainValidationError, newId, type ProjectScope } from '#kernel';
import {
  Database,
  OutgoingHttp,
  openFirstRow,
  resealRows,
  type SealedRow,
  type CheckedSecrets,
  SecretBox,
} from '#platform';
import {
  patchOf,
  type Relay,
  type GivenPatch,
  relaySecret,
  type RelaySecrets,
  settingsOf,
  type WantedRelay,
} from './relay.js';
import { RelayRepository } from './relay.repository.js';

/** Each may be tried while it fails, and hold connections: what a project may cost the others is bounded. */
const MOST_RELAYS = 20;

/** The passwords and feedback keys of all projects' relays. */
const SECRETS = {
  contextOf: relaySecret,
  sealedOtherwise: (prefix: string, limit: number) => sql<SealedRow<string>>`
    select id as key, project_id, environment_id,
      array[password_box, feedback_key_box] as boxes
    from deliverability.relays
    where not starts_with(password_box, ${prefix}) or not starts_with(feedback_key_box, ${prefix})
    order by id limit ${limit}
  `,
  rewrite: (
    { key, environmentId, boxes: [oldPassword, oldFeedbackKey] }: SealedRow<string>,
    [password, feedbackKey]: SealedRow<string>['boxes'],
  ) => sql`
    update deliverability.relays set password_box = ${password}, feedback_key_box = ${feedbackKey}
    where environment_id = ${environmentId} and id = ${key}
      and password_box is not distinct from ${oldPassword} and feedback_key_box is not distinct from ${oldFeedbackKey}
  `,
};

/** Sets a project's relays up, changes and removes them. */
@Injectable()
export class RelaysService implements CheckedSecrets {
  constructor(
    private readonly database: Database,
    private readonly relays: RelayRepository,
    private readonly box: SecretBox,
    private readonly outgoing: OutgoingHttp,
    private readonly clock: Clock,
  ) {}

  /** Throws DomainValidationError. */
  async create(
    scope: ProjectScope,
    { secrets, ...wanted }: WantedRelay & { secrets: RelaySecrets },
  ): Promise<Relay> {
    const settings = settingsOf(wanted, secrets);
    await this.#refuseHost(settings.host);
    const now = this.clock.now();
    return this.database.transaction(scope, async () => {
      if ((await this.relays.countAndLock(scope)) >= MOST_RELAYS)
        throw new DomainValidationError({ relays: `must be at most ${MOST_RELAYS} in an environment` });
      const relay = await this.relays.add(scope, wanted.kind, settings, now);
      relay.change(this.#sealed(scope, secrets), now);
      return relay;
    });
  }

  /** Throws NotFoundError, DomainValidationError. */
  async change(
    scope: ProjectScope,
    relayKey: string,
    { secrets, ...patch }: GivenPatch & { secrets: RelaySecrets },
  ): Promise<Relay> {
    if (patch.host !== undefined) await this.#refuseHost(patch.host);
    return this.database.transaction(scope, async () => {
      const relay = await this.relays.lock(scope, relayKey);
      relay.change(patchOf(relay, { ...patch, ...this.#sealed(scope, secrets) }, secrets), this.clock.now());
      return relay;
    });
  }

  /** Mail on its wire ends there; waiting mail takes another relay. Throws NotFoundError. */
  async remove(scope: ProjectScope, relayKey: string): Promise<void> {
    await this.database.transaction(scope, async () => {
      this.relays.remove(await this.relays.lock(scope, relayKey));
    });
  }

  /** Another feedback address; the one before is good for nothing from then on. Throws NotFoundError. */
  rotateFeedback(scope: ProjectScope, relayKey: string): Promise<Relay> {
    return this.database.transaction(scope, async () => {
      const relay = await this.relays.lock(scope, relayKey);
      relay.rotateFeedback(newId(), this.clock.now());
      return relay;
    });
  }

  resealSecrets(limit: number): Promise<number> {
    return this.database.system(() => resealRows(this.database, this.box, SECRETS, limit));
  }

  checkSecrets(): Promise<void> {
    return this.database.system(() => openFirstRow(this.database, this.box, SECRETS));
  }

  #sealed(scope: ProjectScope, { password, feedbackKey }: RelaySecrets) {
    const seal = (secret: string | null) =>
      secret === null ? null : this.box.seal(secret, relaySecret(scope));
    return {
      ...(password === undefined ? {} : { passwordBox: seal(password) }),
      ...(feedbackKey === undefined ? {} : { feedbackKeyBox: seal(feedbackKey) }),
    };
  }

  async #refuseHost(host: string): Promise<void> {
    const fault = await this.outgoing.hostFault(`http://${host.includes(':') ? `[${host}]` : host}`);
    if (fault !== null) throw new DomainValidationError({ host: fault });
  }
}

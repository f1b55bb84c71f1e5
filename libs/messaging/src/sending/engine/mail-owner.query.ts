import { type RawBuilder, sql } from 'kysely';
import { ownStreams } from '#deliverability';
import type { Environment, ProjectScope } from '#kernel';
import type { DeliveryKind } from '../../deliveries/delivery.js';

/** Kinds of mails that belong to no campaign's sending, and that one sender takes. */
export type SingleKinds = readonly ['OPT_IN', 'TEST'] | readonly [Exclude<DeliveryKind, 'CAMPAIGN'>];

/** Whose mail a sender takes: that of one project with relays of its own for it, or that of all who have none (`scope` is null). */
export interface MailOwner {
  readonly environment: Environment;
  readonly scope: ProjectScope | null;
}

/** Whether mail of that environment and kind is the owner's. Mail of the test environment goes by no relay. */
export function byOwner(
  { environment, scope }: MailOwner,
  environmentId: RawBuilder<unknown>,
  kind: RawBuilder<unknown>,
): RawBuilder<unknown> {
  if (scope !== null) return sql`${environmentId} = ${scope.environmentId}`;
  // `not in` is never made a join: the relays are read once a statement.
  return environment === 'TEST'
    ? sql`true`
    : sql`((${environmentId}, ${kind}) not in (select environment_id, stream from ${ownStreams} own)) is true`;
}

import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { DeliverabilityTables } from '../deliverability.schema.js';
import { RECORD_PURPOSES, type RecordPurpose } from '../dns/dns-record.js';
import { RELAY_STREAMS, type RelaySigning, type RelayStatus, type RelayStream } from './kinds/kind.js';
import { kindRules, type RelayKind } from './kinds/kinds.js';
import type { Relay } from './relay.js';

/** The properties of a relay that decide which records its mail needs. */
interface RelayMail {
  readonly kind: RelayKind;
  readonly signing: RelaySigning;
}

/** The records that mail by one relay needs; without our signature, our key is not one. */
export function recordsOfRelay({ kind, signing }: RelayMail): readonly RecordPurpose[] {
  return kindRules(kind).dnsRecords.filter((purpose) => purpose !== 'DKIM' || signing === 'OWN');
}

/**
 * The records that the sending domain needs, even if its relays take no mail now. The installation's relay needs all of
 * them, and takes what no relay of the project does.
 */
export function requiredRecords(
  relays: readonly (RelayMail & { readonly streams: readonly RelayStream[] })[],
): ReadonlySet<RecordPurpose> {
  const taken = new Set(relays.flatMap(({ streams }) => streams));
  return RELAY_STREAMS.every((stream) => taken.has(stream))
    ? new Set<RecordPurpose>(['OWNERSHIP', ...relays.flatMap(recordsOfRelay)])
    : new Set(RECORD_PURPOSES);
}

/** `environment_id` and `stream` of the mail that goes by relays of the projects' own, once for each relay. */
export const ownStreams: RawBuilder<unknown> = sql`(
  select r.environment_id, unnest(r.streams) as stream from deliverability.relays r
)`;

/** A relay as a sender needs it. */
export type OwnRelay = Pick<
  Relay,
  | 'id'
  | 'environmentId'
  | 'projectId'
  | 'relayKey'
  | 'kind'
  | 'host'
  | 'port'
  | 'tls'
  | 'username'
  | 'passwordBox'
  | 'options'
  | 'streams'
  | 'priority'
  | 'weight'
  | 'connections'
  | 'ratePerSecond'
  | 'signing'
  | 'status'
>;

/** A relay for the pre-send checks: its status, and the part that the sending domain has in its mail. */
export interface RelaySummary {
  readonly name: string;
  readonly status: RelayStatus;
  /** Its provider could report on mail, was handed some, and has reported nothing. */
  readonly isSilent: boolean;
  /** Our signature is on its mail and holds. */
  readonly carriesOurSignature: boolean;
  /** Its mail returns to the domain's return path, which SPF is about. */
  readonly usesOurReturnPath: boolean;
}

/** Reads relays for senders, for checks and for the sending domain. */
@Injectable()
export class RelaysQuery {
  constructor(private readonly database: Database) {}

  /** The relays of environments, in the order in which they are tried. The password is sealed. */
  ofEnvironments(environmentIds: readonly number[]): Promise<OwnRelay[]> {
    return this.database.system(() =>
      this.database
        .tables<DeliverabilityTables>()
        .selectFrom('deliverability.relays')
        .select(['id', 'environmentId', 'projectId', 'relayKey', 'kind', 'host', 'port', 'tls', 'username'])
        .select(['passwordBox', 'options', 'streams', 'priority', 'weight', 'connections', 'ratePerSecond'])
        .select(['signing', 'status'])
        .where('environmentId', 'in', environmentIds)
        .orderBy('environmentId')
        .orderBy('priority')
        .orderBy('createdAt')
        .orderBy('id')
        .execute(),
    );
  }

  /** The relays that take a stream, in the order in which they are tried; none if the installation's does. */
  async ofStream(scope: ProjectScope, stream: RelayStream): Promise<RelaySummary[]> {
    const rows = await this.database.transaction(scope, () =>
      this.database
        .tables<DeliverabilityTables>()
        .selectFrom('deliverability.relays')
        .select(['name', 'kind', 'signing', 'status', 'lastUsedAt', 'lastFeedbackAt'])
        .where('environmentId', '=', scope.environmentId)
        .where(({ eb, fn }) => eb(eb.val(stream), '=', fn.any('streams')))
        .orderBy('priority')
        .orderBy('createdAt')
        .orderBy('id')
        .execute(),
    );
    return rows.map(({ name, status, kind, signing, lastUsedAt, lastFeedbackAt }) => {
      const records = recordsOfRelay({ kind, signing });
      // A server of one's own reports to the return path.
      const couldTell = kind !== 'SMTP';
      return {
        name,
        status,
        isSilent: couldTell && lastUsedAt !== null && lastFeedbackAt === null,
        carriesOurSignature: records.includes('DKIM'),
        usesOurReturnPath: records.includes('SPF'),
      };
    });
  }

  /** Names of the environment's relays, by their keys. */
  names(scope: ProjectScope): Promise<ReadonlyMap<string, string>> {
    return this.database.transaction(scope, async () => {
      const relays = await this.database
        .tables<DeliverabilityTables>()
        .selectFrom('deliverability.relays')
        .select(['relayKey', 'name'])
        .where('environmentId', '=', scope.environmentId)
        .execute();
      return new Map(relays.map(({ relayKey, name }) => [relayKey, name]));
    });
  }

  /** The records that the environment's relays need now. */
  requiredRecords(scope: ProjectScope): Promise<ReadonlySet<RecordPurpose>> {
    return this.database.transaction(scope, async () => {
      const relays = await this.database
        .tables<DeliverabilityTables>()
        .selectFrom('deliverability.relays')
        .select(['kind', 'signing', 'streams'])
        .where('environmentId', '=', scope.environmentId)
        .execute();
      return requiredRecords(relays);
    });
  }
}

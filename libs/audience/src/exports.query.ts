import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Clock, type ProjectScope } from '#kernel';
import { named } from '#platform';
import type { CustomFieldValue } from './custom-fields/custom-field.js';
import { CustomFieldsQuery } from './custom-fields/custom-field.repository.js';
import { SYSTEM_COLUMNS } from './imports/import-columns.js';
import { SubscriberRulesService } from './rules/subscriber-rules.service.js';
import { activeValues } from './subscribers/subscriber.repository.js';

/** Data of the audience that can be exported. */
export type AudienceExport = 'SUBSCRIBERS' | 'CONSENTS' | 'SUPPRESSIONS' | 'EVENTS';

type Row = Readonly<Record<string, unknown>>;

/** The rows of an export, in an order that depends on nothing but them, and how each is written as CSV. */
export interface ExportSource {
  readonly columns: readonly string[];
  /** The one statement that reads all of them. */
  readonly statement: RawBuilder<Row>;
  readonly cellsOf: (row: Row) => readonly unknown[];
  /** Cells are written as they are, to be read again, also those that a spreadsheet would compute. */
  readonly isImportable: boolean;
}

/** Makes the statements of exports. */
@Injectable()
export class ExportsQuery {
  constructor(
    private readonly fields: CustomFieldsQuery,
    private readonly rules: SubscriberRulesService,
    private readonly clock: Clock,
  ) {}

  /** `segmentId`: of its members only; suppressions are of addresses, whoever has them. */
  async source(scope: ProjectScope, what: AudienceExport, segmentId: string | null): Promise<ExportSource> {
    switch (what) {
      case 'SUBSCRIBERS':
        return this.#subscribers(scope, await this.members(scope, segmentId));
      case 'CONSENTS':
        return consents(scope, await this.members(scope, segmentId));
      case 'EVENTS':
        return events(scope, await this.members(scope, segmentId));
      case 'SUPPRESSIONS':
        return suppressions(scope);
    }
  }

  /** The condition on a subscriber `b` to be in the segment now; true without one. */
  async members(scope: ProjectScope, segmentId: string | null): Promise<RawBuilder<boolean>> {
    if (segmentId === null) return sql<boolean>`true`;
    return this.rules.anyOf(scope, [segmentId], this.clock.now());
  }

  /** As an import reads them: an import of the file gives a project with the same file. */
  async #subscribers(scope: ProjectScope, areMembers: RawBuilder<boolean>): Promise<ExportSource> {
    const definitions = await this.fields.definitions(scope);
    const keys = definitions.map(({ key }) => key).toSorted();
    return {
      columns: [...SYSTEM_COLUMNS, ...keys.map((key) => `customFields.${key}`)],
      statement: sql`${named('export_subscribers')}
        select b.email, b.external_id, b.first_name, b.last_name, b.phone, b.locale, b.time_zone,
          ${activeValues(scope)} as custom_fields
        from audience.subscribers b where b.environment_id = ${scope.environmentId} and ${areMembers}
        order by b.email_key
      `,
      cellsOf: ({ customFields, ...row }) => {
        const values = customFields as Readonly<Record<string, CustomFieldValue>>;
        return [...SYSTEM_COLUMNS.map((column) => row[column]), ...keys.map((key) => values[key])].map(
          cellOf,
        );
      },
      isImportable: true,
    };
  }
}

/** A value in the form in which imports read it; spaces alone are nothing there. */
function cellOf(value: unknown): unknown {
  if (typeof value === 'string') return value.trim() === '' ? null : value;
  if (typeof value === 'number') return plainNumber(value);
  return Array.isArray(value) ? JSON.stringify(value) : value;
}

/** Without an exponent, which only numbers near zero have here. */
function plainNumber(value: number): string {
  const [mantissa = '', exponent] = String(value).split('e-');
  if (exponent === undefined) return mantissa;
  const digits = mantissa.replace('-', '').replace('.', '');
  return `${value < 0 ? '-' : ''}0.${'0'.repeat(Number(exponent) - 1)}${digits}`;
}

const CONSENT_COLUMNS = [
  'email',
  'externalId',
  'subscriberStatus',
  'topicKey',
  'topicName',
  'status',
  'grantedAt',
  'confirmedAt',
  'revokedAt',
  'source',
  'sourceUrl',
  'ipAddress',
  'userAgent',
  'consentText',
  'formVersion',
] as const;

/** The present consents with the proof of the last grant. */
function consents({ environmentId }: ProjectScope, areMembers: RawBuilder<boolean>): ExportSource {
  return plainSource(
    CONSENT_COLUMNS,
    sql`${named('export_consents')}
      select b.email, b.external_id, b.status as subscriber_status, t.topic_key, t.name as topic_name, c.status, c.granted_at, c.confirmed_at, c.revoked_at,
        l.source, l.source_url, l.ip_address, l.user_agent, l.consent_text, l.form_version
      from audience.subscribers b
      join audience.consents c on c.environment_id = b.environment_id and c.subscriber_id = b.id
      join audience.topics t on t.environment_id = c.environment_id and t.id = c.topic_id
      left join lateral (
        select * from audience.consent_ledger l
        where l.environment_id = ${environmentId} and l.subscriber_id = b.id and l.topic_id = c.topic_id
          and l.to_status in ('PENDING_CONFIRMATION', 'SUBSCRIBED') and l.from_status is distinct from 'PENDING_CONFIRMATION'
          and l.address_change is null
        order by l.occurred_at desc, l.position desc limit 1
      ) l on true
      where b.environment_id = ${environmentId} and ${areMembers}
      order by b.email_key, t.topic_key
    `,
  );
}

const SUPPRESSION_COLUMNS = ['email', 'reason', 'streams', 'suppressedAt'] as const;

/** Suppressions whose address is known: of erased people a keyed hash is kept alone. */
function suppressions({ environmentId }: ProjectScope): ExportSource {
  return plainSource(
    SUPPRESSION_COLUMNS,
    sql`${named('export_suppressions')}
      select s.email, s.reason, s.streams, s.suppressed_at from audience.suppressions s
      where s.environment_id = ${environmentId} order by s.email_key
    `,
  );
}

const EVENT_COLUMNS = [
  'id',
  'email',
  'externalId',
  'name',
  'properties',
  'occurredAt',
  'uniqueId',
  'createdAt',
] as const;

function events({ environmentId }: ProjectScope, areMembers: RawBuilder<boolean>): ExportSource {
  return plainSource(
    EVENT_COLUMNS,
    sql`${named('export_events')}
      select e.id, b.email, b.external_id, e.name, e.properties, e.occurred_at, e.unique_id, e.created_at
      from audience.subscriber_events e
      join audience.subscribers b on b.environment_id = e.environment_id and b.id = e.subscriber_id
      where e.environment_id = ${environmentId} and b.environment_id = ${environmentId} and ${areMembers}
      order by e.occurred_at, e.id
    `,
  );
}

/** A source whose cells are the row's values; JSON is written as such. */
export function plainSource(columns: readonly string[], statement: RawBuilder<Row>): ExportSource {
  const cell = (value: unknown) =>
    typeof value === 'object' && value !== null && !(value instanceof Date) ? JSON.stringify(value) : value;
  return {
    columns,
    statement,
    cellsOf: (row) => columns.map((column) => cell(row[column])),
    isImportable: false,
  };
}

import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { isUuid, NotFoundError, type Page, type PageRequest, type ProjectScope } from '#kernel';
import { Database, environmentOf } from '#platform';
import type { DeliveryKind } from '../../deliveries/delivery.js';
import { type OpenedTestInboxMessage, openMessage, type TestInboxMessage } from './test-inbox-message.js';

export interface TestInboxFilter {
  /** A normalised address: `EmailAddress.key`. */
  readonly toKey?: string | undefined;
  readonly kind?: DeliveryKind | undefined;
}

interface RawMessage extends TestInboxMessage {
  readonly raw: Buffer;
}

const COLUMNS = sql`
  m.id, m.to_address as "to", m.from_address as "from", m.subject, m.kind, m.received_at as "receivedAt", m.links
`;

/** The project's test inbox. A live environment has none: everything in it is `NotFoundError`. */
@Injectable()
export class TestInboxQuery {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** Newest first. */
  async list(
    scope: ProjectScope,
    { page, size }: PageRequest,
    filter: TestInboxFilter,
  ): Promise<Page<TestInboxMessage>> {
    refuseLive(scope);
    const where = sql`
      m.environment_id = ${scope.environmentId}
      ${filter.toKey === undefined ? sql`` : sql`and m.to_key = ${filter.toKey}`}
      ${filter.kind === undefined ? sql`` : sql`and m.kind = ${filter.kind}`}
    `;
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<TestInboxMessage>`
        select ${COLUMNS} from messaging.test_inbox_messages m where ${where}
        order by m.received_at desc, m.id desc limit ${size} offset ${page * size}
      `.execute(db);
      const total = await sql<{ total: number }>`
        select count(*) as total from messaging.test_inbox_messages m where ${where}
      `.execute(db);
      return { items: rows, totalElements: total.rows[0]?.total ?? 0 };
    });
  }

  async open(scope: ProjectScope, id: string): Promise<OpenedTestInboxMessage> {
    const { raw, ...summary } = await this.#find(scope, id);
    return openMessage(summary, raw);
  }

  /** The message as it would have gone over the wire. */
  async raw(scope: ProjectScope, id: string): Promise<Buffer> {
    return (await this.#find(scope, id)).raw;
  }

  async clear(scope: ProjectScope): Promise<void> {
    refuseLive(scope);
    await this.database.transaction(scope, async ({ db }) => {
      await sql`delete from messaging.test_inbox_messages where environment_id = ${scope.environmentId}`.execute(
        db,
      );
    });
  }

  async #find(scope: ProjectScope, id: string): Promise<RawMessage> {
    refuseLive(scope);
    if (!isUuid(id)) throw new NotFoundError();
    const found = await this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<RawMessage>`
        select ${COLUMNS}, m.raw from messaging.test_inbox_messages m
        where m.environment_id = ${environmentOf(scope)} and m.id = ${id}
      `.execute(db);
      return rows[0];
    });
    if (found === undefined) throw new NotFoundError();
    return found;
  }
}

function refuseLive({ environment }: ProjectScope): void {
  if (environment !== 'TEST') throw new NotFoundError();
}

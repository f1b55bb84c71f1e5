import { Injectable } from '@nestjs/common';
import { isUuid, NotFoundError, type Page, type PageRequest, type ProjectScope } from '#kernel';
import { Database, ListOrder } from '#platform';
import type { DeliveryKind } from '../../deliveries/delivery.js';
import type { MessagingTables } from '../../messaging-tables.js';
import { type OpenedTestInboxMessage, openMessage, type TestInboxMessage } from './test-inbox-message.js';

export interface TestInboxFilter {
  /** A normalised address: `EmailAddress.key`. */
  readonly toKey?: string | undefined;
  readonly kind?: DeliveryKind | undefined;
}

const SUMMARY = [
  'id',
  'toAddress as to',
  'fromAddress as from',
  'subject',
  'kind',
  'receivedAt',
  'links',
] as const;

const LATEST_FIRST = new ListOrder([
  ['received_at', 'timestamptz'],
  ['id', 'uuid'],
]);

/** The project's test inbox. A live environment has none: everything in it is `NotFoundError`. */
@Injectable()
export class TestInboxQuery {
  constructor(private readonly database: Database) {}

  /** Newest first. */
  async list(
    scope: ProjectScope,
    request: PageRequest,
    { toKey, kind }: TestInboxFilter,
  ): Promise<Page<TestInboxMessage>> {
    refuseLive(scope);
    return this.database.list(scope, async () => {
      const messages = this.database
        .tables<MessagingTables>()
        .selectFrom('messaging.test_inbox_messages')
        .where('environmentId', '=', scope.environmentId)
        .$if(toKey !== undefined, (all) => all.where('toKey', '=', toKey!))
        .$if(kind !== undefined, (all) => all.where('kind', '=', kind!));
      return LATEST_FIRST.page(messages.select(SUMMARY), messages, request);
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
    await this.database.transaction(scope, () =>
      this.database
        .tables<MessagingTables>()
        .deleteFrom('messaging.test_inbox_messages')
        .where('environmentId', '=', scope.environmentId)
        .execute(),
    );
  }

  async #find(scope: ProjectScope, id: string): Promise<TestInboxMessage & { readonly raw: Buffer }> {
    refuseLive(scope);
    if (!isUuid(id)) throw new NotFoundError();
    const found = await this.database.transaction(scope, () =>
      this.database
        .tables<MessagingTables>()
        .selectFrom('messaging.test_inbox_messages')
        .select([...SUMMARY, 'raw'])
        .where('environmentId', '=', scope.environmentId)
        .where('id', '=', id)
        .executeTakeFirst(),
    );
    if (found === undefined) throw new NotFoundError();
    return found;
  }
}

function refuseLive({ environment }: ProjectScope): void {
  if (environment !== 'TEST') throw new NotFoundError();
}

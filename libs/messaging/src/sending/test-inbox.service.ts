import { Injectable } from '@nestjs/common';
import {
  Clock,
  isUuid,
  newId,
  NotFoundError,
  octetsOf,
  type Page,
  type PageRequest,
  parseEmailAddress,
  type ProjectScope,
} from '#kernel';
import {
  before,
  Database,
  describeError,
  ListOrder,
  Periodic,
  removeOldRows,
  type SendOutcome,
} from '#platform';
import type { DeliveryKind, MailLinks, OutgoingMail } from '../deliveries/delivery.js';
import type { MessagingTables } from '../messaging-tables.js';
import { sql } from 'kysely';
import { noteSimulation } from './mailbox-simulator.service.js';
import type { DeliveryTransport } from './delivery.route.js';

/** A mail of the test environment, as a list shows it. */
export interface TestInboxMessage {
  readonly id: string;
  readonly to: string;
  readonly from: string;
  readonly subject: string;
  readonly kind: DeliveryKind;
  readonly receivedAt: Date;
  readonly links: MailLinks;
}

/** The same with its parts, and the headers as they are on the wire, unfolded. */
export interface OpenedTestInboxMessage extends TestInboxMessage {
  readonly html: string;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface TestInboxFilter {
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

const HOUR_MS = 60 * 60_000;
const KEPT_MS = 30 * 24 * HOUR_MS;
/** Only inboxes that got mail since the last sweep may be too long; a sweep is never so late. */
const GROWN_WITHIN_MS = HOUR_MS;
const KEPT_MESSAGES = 10_000;

/** The project's test inbox. A live environment has none: everything in it is `NotFoundError`. */
@Injectable()
export class TestInboxService {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Newest first. */
  async list(
    scope: ProjectScope,
    request: PageRequest,
    { toKey, kind }: TestInboxFilter,
  ): Promise<Page<TestInboxMessage>> {
    refuseLive(scope);
    return this.database.read(scope, { isList: true }, async () => {
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

  /** Keeps each test inbox to 30 days and to its newest 10 000 messages. */
  @Periodic('trim-test-inboxes', { everyMs: 10 * 60_000 })
  async trim(): Promise<void> {
    const now = this.clock.now();
    const table = 'messaging.test_inbox_messages';
    await removeOldRows(this.database, { table, where: sql`received_at < ${before(now, KEPT_MS)}` });
    const grown = await this.database.system(() =>
      this.database
        .tables<MessagingTables>()
        .selectFrom(table)
        .select('environmentId')
        .distinct()
        .where('receivedAt', '>=', before(now, GROWN_WITHIN_MS))
        .execute(),
    );
    for (const { environmentId } of grown) await this.#trim(environmentId);
  }

  async #trim(environmentId: number): Promise<void> {
    await this.database.system(() =>
      sql`
        delete from messaging.test_inbox_messages
        where environment_id = ${environmentId} and (received_at, id) < (
          select received_at, id from messaging.test_inbox_messages where environment_id = ${environmentId}
          order by received_at desc, id desc offset ${KEPT_MESSAGES - 1} limit 1
        )
      `.execute(this.database.tables()),
    );
  }
}

function refuseLive({ environment }: ProjectScope): void {
  if (environment !== 'TEST') throw new NotFoundError();
}

/** Reads the raw message (RFC 5322) and puts its parts beside the summary. */
async function openMessage(summary: TestInboxMessage, raw: Buffer): Promise<OpenedTestInboxMessage> {
  const { default: PostalMime } = await import('postal-mime');
  const parsed = await PostalMime.parse(raw);
  return { ...summary, html: parsed.html ?? '', text: parsed.text ?? '', headers: headersOf(raw) };
}

/** Names as they were sent; of a repeated header all values, a line each. */
function headersOf(raw: Buffer): Record<string, string> {
  const text = raw.toString('utf8');
  const end = text.indexOf('\r\n\r\n');
  const headers: Record<string, string> = {};
  for (const line of text
    .slice(0, end === -1 ? undefined : end)
    .replaceAll(/\r\n(?=[ \t])/g, '')
    .split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon < 1) continue;
    const name = line.slice(0, colon);
    const value = line.slice(colon + 1).trim();
    headers[name] = headers[name] === undefined ? value : `${headers[name]}\n${value}`;
  }
  return headers;
}

const CAPACITY = 10;
const KEPT = { code: 250, enhancedCode: null, text: 'kept in the test inbox' };

/** Keeps mail of the test environment as rows. A mail that is delivered again, after a crash, is kept once. */
export class TestInboxTransport implements DeliveryTransport {
  readonly capacity = CAPACITY;

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  async send(mail: OutgoingMail): Promise<SendOutcome> {
    const parsed = parseEmailAddress(mail.to);
    const toKey = 'address' in parsed ? parsed.address.key : mail.to.toLowerCase();
    try {
      await this.database.system(async () => {
        const { environmentId, deliveryId, kind, subject, links, raw } = mail;
        const receivedAt = this.clock.now();
        const { numInsertedOrUpdatedRows } = await this.database
          .tables<MessagingTables>()
          .insertInto('messaging.test_inbox_messages')
          .values({
            id: newId(),
            environmentId,
            deliveryId,
            kind,
            toAddress: mail.to,
            toKey,
            fromAddress: mail.from,
            subject,
            links,
            raw: octetsOf(raw),
            receivedAt,
          })
          .onConflict((conflict) => conflict.columns(['deliveryId', 'environmentId']).doNothing())
          .executeTakeFirstOrThrow();
        if (kind !== 'OPT_IN' && kind !== 'TEST' && numInsertedOrUpdatedRows === 1n)
          await noteSimulation(this.database, mail, receivedAt);
      });
      return { kind: 'accepted', reply: KEPT };
    } catch (error) {
      return { kind: 'route-unavailable', detail: describeError(error), stage: 'connect' };
    }
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

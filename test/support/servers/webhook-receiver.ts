import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import type { ApiClient } from '../http/api-client.js';
import { eventually } from '../time/eventually.js';

interface Post {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** The body of a webhook. */
export interface ToldEvent {
  readonly type: string;
  readonly timestamp: string;
  readonly sequence: number;
  readonly data: Readonly<Record<string, unknown>>;
}

type FaultsOf = (event: ToldEvent) => readonly string[];

/** A customer's program on loopback that keeps what it is posted and answers as `answer` says. */
export class WebhookReceiver {
  readonly posts: Post[] = [];
  answer: (post: Post, count: number) => number = () => 204;
  /** The text of its answers. */
  says = '';
  readonly #server: Server = createServer((request, response) => void this.#take(request, response));

  /** Differences of events from what is documented of their type; `close` throws them. */
  readonly #faults = new Set<string>();

  constructor(private readonly faultsOf?: FaultsOf) {}

  /** One for events of the api, which are compared with what is documented of their type. */
  static async ofEvents(): Promise<WebhookReceiver> {
    const { POSTED_SCHEMAS, postSchema } = await import('../../../apps/api/src/webhooks/event-schemas.js');
    const schemas = new Map(
      Object.entries(POSTED_SCHEMAS).map(([type, declared]) => [type, postSchema(type, declared)]),
    );
    return WebhookReceiver.open((event) => {
      if (isErased(event)) return [];
      const read = schemas.get(event.type)?.safeParse(event);
      if (read === undefined) return [`${event.type} is not documented`];
      if (!read.success)
        return read.error.issues.map(({ path, message }) => `${event.type} ${path.join('.')}: ${message}`);
      return isDeepStrictEqual(read.data, event)
        ? []
        : [`${event.type} has more than is documented: ${JSON.stringify(event.data)}`];
    });
  }

  static async open(faultsOf?: FaultsOf): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver(faultsOf);
    receiver.#server.listen(0, '127.0.0.1');
    await once(receiver.#server, 'listening');
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hooks`;
  }

  get ids(): string[] {
    return this.posts.map(({ headers }) => String(headers['webhook-id']));
  }

  get events(): ToldEvent[] {
    return this.posts.map(({ body }) => JSON.parse(body) as ToldEvent);
  }

  /** Causes events of the api and of the worker of TEST until both know a new endpoint for all events: each reads it by itself. */
  async untilKnown(client: ApiClient): Promise<void> {
    const note = { purpose: 'A test.', subject: 'Before', text: 'Before.', keep: 'NOTHING' };
    await this.untilTold('suppression.added', (email) => client.post('/suppressions', { email }));
    await this.untilTold('message.sent', (to) => client.post('/messages', { to: `to-${to}`, ...note }));
  }

  /** Causes events of a type until one is told: a process that does not know a new endpoint yet tells it nothing. */
  async untilTold(type: string, cause: (email: string) => Promise<unknown>): Promise<void> {
    let n = 0;
    await eventually(`${type} to be told`, async () => {
      await cause(`before-${(n += 1)}@example.com`);
      return this.events.some((event) => event.type === type);
    });
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
    if (this.#faults.size > 0) throw new Error([...this.#faults].join('\n'));
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const post = { headers: request.headers, body: await text(request) };
    this.posts.push(post);
    for (const fault of this.faultsOf?.(JSON.parse(post.body) as ToldEvent) ?? []) this.#faults.add(fault);
    response.writeHead(this.answer(post, this.posts.length)).end(this.says);
  }
}

/** True for an event about a person who was erased before it was posted. */
function isErased({ type, data }: ToldEvent): boolean {
  const names = Object.keys(data);
  return (
    names.length === 1 &&
    (names[0] === 'subscriberId' || (type.startsWith('message.') && names[0] === 'messageId'))
  );
}

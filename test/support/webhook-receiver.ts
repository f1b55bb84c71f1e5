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
import { eventually } from './eventually.js';

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

/** A customer's program on loopback that keeps what it is posted and answers as `answer` says. */
export class WebhookReceiver {
  readonly posts: Post[] = [];
  answer: (post: Post, count: number) => number = () => 204;
  /** The text of its answers. */
  says = '';
  readonly #server: Server = createServer((request, response) => void this.#take(request, response));

  static async open(): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver();
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

  /**
   * Causes events of a type until one is told. Each process looks every 2 seconds who listens: before it knows of a new
   * endpoint it tells it nothing.
   */
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
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const post = { headers: request.headers, body: await text(request) };
    this.posts.push(post);
    response.writeHead(this.answer(post, this.posts.length)).end(this.says);
  }
}

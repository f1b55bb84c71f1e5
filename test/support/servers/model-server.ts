import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that the model was asked. */
export interface ModelCall {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: string;
}

export type ModelBehaviour =
  | { readonly answer: string; readonly usage?: object | null }
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string }
  /** Takes the request and never answers. */
  | 'silent'
  /** Begins an answer and breaks the connection. */
  | 'broken';

/** Stands in for an OpenAI-compatible endpoint: does what a test tells it, request by request. */
export class ModelServer {
  readonly calls: ModelCall[] = [];
  #behaviours: ModelBehaviour[] = [];
  #usual: ModelBehaviour = { answer: '## Summary\n\nIt went well.' };

  private constructor(private readonly server: Server) {}

  static async start(): Promise<ModelServer> {
    const server = createServer();
    const model = new ModelServer(server);
    server.on('request', (request, response) => void model.#take(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return model;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`;
  }

  /** Sets the behaviour for the next requests, one each; those after meet the last one. */
  behave(...behaviours: readonly [ModelBehaviour, ...ModelBehaviour[]]): void {
    this.calls.length = 0;
    this.#behaviours = [...behaviours];
    this.#usual = behaviours.at(-1) ?? this.#usual;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    this.calls.push({
      path: request.url ?? '',
      authorization: request.headers.authorization,
      body: Buffer.concat(parts).toString('utf8'),
    });
    this.#do(this.#behaviours.shift() ?? this.#usual, response);
  }

  #do(behaviour: ModelBehaviour, response: ServerResponse): void {
    if (behaviour === 'silent') return;
    if (behaviour === 'broken') {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
      response.write('{"choices"');
      setImmediate(() => response.destroy());
    } else if ('status' in behaviour) {
      response.writeHead(behaviour.status, behaviour.headers).end(behaviour.body ?? 'no');
    } else {
      response.writeHead(200, { 'content-type': 'application/json' }).end(completionOf(behaviour));
    }
  }
}

/** As the API reference shows one. */
function completionOf({ answer, usage }: Extract<ModelBehaviour, { answer: string }>): string {
  return JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_790_000_000,
    model: 'stand-in',
    choices: [
      { index: 0, message: { role: 'assistant', content: answer, refusal: null }, finish_reason: 'stop' },
    ],
    ...(usage === null
      ? {}
      : { usage: usage ?? { prompt_tokens: 1_000, completion_tokens: 500, total_tokens: 1_500 } }),
  });
}

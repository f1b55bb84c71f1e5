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

interface KeyValue {
  readonly key: string;
  readonly value: {
    readonly stringValue?: string;
    readonly intValue?: number;
    readonly doubleValue?: number;
  };
}

interface WireSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly attributes?: readonly KeyValue[];
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status?: { readonly code?: number };
}

/** Body of a post (OTLP 1.x, ExportTraceServiceRequest) as JSON. */
interface ExportRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] };
    readonly scopeSpans: readonly { readonly spans: readonly WireSpan[] }[];
  }[];
}

export interface CollectedSpan extends Omit<WireSpan, 'attributes'> {
  readonly service: string;
  readonly attributes: Readonly<Record<string, string | number | undefined>>;
}

/** A collector of traces on loopback, which keeps what it is posted and answers as `status` says; null: never. */
export class TraceCollector {
  status: number | null = 200;
  readonly bodies: string[] = [];
  readonly headers: IncomingHttpHeaders[] = [];
  readonly spans: CollectedSpan[] = [];
  readonly #unanswered: ServerResponse[] = [];
  readonly #server: Server = createServer((request, response) => void this.#take(request, response));

  static async open(): Promise<TraceCollector> {
    const collector = new TraceCollector();
    collector.#server.listen(0, '127.0.0.1');
    await once(collector.#server, 'listening');
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    for (const response of this.#unanswered) response.writeHead(400).end();
    this.#server.close();
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    this.headers.push(request.headers);
    if (this.status === null) return void this.#unanswered.push(response);
    if (this.status === 200 && request.url === '/v1/traces') {
      this.bodies.push(body);
      this.spans.push(...spansOf(JSON.parse(body) as ExportRequest));
    }
    response.writeHead(this.status, { 'content-type': 'application/json' }).end('{}');
  }
}

function spansOf({ resourceSpans }: ExportRequest): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(valuesOf(resource.attributes)['service.name']);
    const spans = scopeSpans.flatMap((scope) => scope.spans);
    return spans.map((span) => ({ ...span, service, attributes: valuesOf(span.attributes ?? []) }));
  });
}

function valuesOf(attributes: readonly KeyValue[]): Record<string, string | number | undefined> {
  return Object.fromEntries(
    attributes.map(({ key, value: { stringValue, intValue, doubleValue } }) => [
      key,
      stringValue ?? intValue ?? doubleValue,
    ]),
  );
}

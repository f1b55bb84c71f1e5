import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { OPERATIONS_PATHS, type Operations, type OperationsPath } from './operations.js';

/** Health and metrics on a port of their own: the worker's, and the api's on OPERATIONS_PORT and METRICS_PORT. */
export class OperationsServer {
  #server: Server | undefined;

  constructor(
    private readonly operations: Operations,
    private readonly paths: readonly OperationsPath[] = OPERATIONS_PATHS,
  ) {}

  /** Resolves to the port, which matters when `port` is 0; rejects when it cannot listen. */
  async listen(port: number, host: string): Promise<number> {
    const server = createServer((request, response) => void this.#answer(request, response));
    // Each process of a worker has one of its own.
    server.listen({ port, host, exclusive: true });
    await once(server, 'listening');
    this.#server = server;
    return (server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = this.paths.find((known) => known === request.url?.split('?')[0]);
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (path === undefined || !isRead) {
      response
        .writeHead(path === undefined ? 404 : 405, path === undefined ? {} : { allow: 'GET, HEAD' })
        .end();
      return;
    }
    try {
      const { status, contentType, body } = await this.operations.answer(path);
      response.writeHead(status, { 'content-type': contentType, 'cache-control': 'no-store' }).end(body);
    } catch {
      response.writeHead(500).end();
    }
  }
}

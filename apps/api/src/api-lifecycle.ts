import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { type Config, CONFIG, Notifications, Operations, OperationsServer } from '#platform';

/** Starts and stops with the api's process. */
@Injectable()
export class ApiLifecycle
  implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  readonly #operationsServer: OperationsServer;
  readonly #metricsServer: OperationsServer;
  #operationsPort: number | null = null;
  #metricsPort: number | null = null;
  #patience: NodeJS.Timeout | undefined;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly notifications: Notifications,
    operations: Operations,
    @Inject(HttpAdapterHost) private readonly http: HttpAdapterHost<FastifyAdapter>,
  ) {
    this.#operationsServer = new OperationsServer(operations);
    this.#metricsServer = new OperationsServer(operations, ['/metrics']);
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.notifications.start();
    const { OPERATIONS_PORT, METRICS_PORT, HOST } = this.config;
    const listen = async (server: OperationsServer, port: number | undefined) =>
      port === undefined ? null : server.listen(port, HOST);
    this.#operationsPort = await listen(this.#operationsServer, OPERATIONS_PORT);
    this.#metricsPort = await listen(this.#metricsServer, METRICS_PORT);
  }

  /** The ports of the servers for operations and metrics; null where there is none. */
  get ports(): { readonly operations: number | null; readonly metrics: number | null } {
    return { operations: this.#operationsPort, metrics: this.#metricsPort };
  }

  /** Waits for running requests; closes their connections after SHUTDOWN_TIMEOUT_MS. */
  beforeApplicationShutdown(): void {
    const server = this.http.httpAdapter.getInstance().server;
    this.#patience = setTimeout(() => server.closeAllConnections(), this.config.SHUTDOWN_TIMEOUT_MS);
  }

  async onApplicationShutdown(): Promise<void> {
    clearTimeout(this.#patience);
    await Promise.all([this.#operationsServer.close(), this.#metricsServer.close()]);
  }
}

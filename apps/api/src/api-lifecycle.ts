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

/** What begins and ends with the api's process. */
@Injectable()
export class ApiLifecycle
  implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  readonly #operationsServer: OperationsServer;
  readonly #metricsServer: OperationsServer;
  #patience: NodeJS.Timeout | undefined;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(Notifications) private readonly notifications: Notifications,
    @Inject(Operations) operations: Operations,
    @Inject(HttpAdapterHost) private readonly http: HttpAdapterHost<FastifyAdapter>,
  ) {
    this.#operationsServer = new OperationsServer(operations);
    this.#metricsServer = new OperationsServer(operations, ['/metrics']);
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.notifications.start();
    const { OPERATIONS_PORT, METRICS_PORT, HOST } = this.config;
    if (OPERATIONS_PORT !== undefined) await this.#operationsServer.listen(OPERATIONS_PORT, HOST);
    if (METRICS_PORT !== undefined) await this.#metricsServer.listen(METRICS_PORT, HOST);
  }

  /** Requests that run may finish; those that take longer than SHUTDOWN_TIMEOUT_MS lose their connection. */
  beforeApplicationShutdown(): void {
    const server = this.http.httpAdapter.getInstance().server;
    this.#patience = setTimeout(() => server.closeAllConnections(), this.config.SHUTDOWN_TIMEOUT_MS);
  }

  async onApplicationShutdown(): Promise<void> {
    clearTimeout(this.#patience);
    await Promise.all([this.#operationsServer.close(), this.#metricsServer.close()]);
  }
}

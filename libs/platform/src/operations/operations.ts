import type { Registry } from 'prom-client';
import type { HealthChecks } from './health-checks.js';

export interface OperationsAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** The paths that operators, load balancers and Prometheus ask. */
export const OPERATIONS_PATHS = ['/health/live', '/health/ready', '/metrics'] as const;

export type OperationsPath = (typeof OPERATIONS_PATHS)[number];

/** What a process says about itself, on whichever port. */
export class Operations {
  constructor(
    private readonly health: HealthChecks,
    private readonly registry: Registry,
  ) {}

  async answer(path: OperationsPath): Promise<OperationsAnswer> {
    switch (path) {
      case '/health/live':
        return json(200, { status: 'ok' });
      case '/health/ready': {
        const readiness = await this.health.readiness();
        return json(readiness.status === 'unavailable' ? 503 : 200, readiness);
      }
      case '/metrics':
        return { status: 200, contentType: this.registry.contentType, body: await this.registry.metrics() };
    }
  }
}

function json(status: number, body: object): OperationsAnswer {
  return { status, contentType: 'application/json', body: JSON.stringify(body) };
}

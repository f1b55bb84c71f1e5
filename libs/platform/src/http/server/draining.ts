import type { HealthCheck } from '../../operations/health-checks.js';

/**
 * The time between the order to stop and the end of listening. Everything is still answered, but `/health/ready`
 * says 503, so that load balancers look elsewhere, and each answer ends its connection (RFC 9112 §9.6), so that no
 * client sends its next request to a connection that is about to be closed.
 */
export class Draining {
  #isOn = false;

  get isOn(): boolean {
    return this.#isOn;
  }

  begin(): void {
    this.#isOn = true;
  }

  /** Fails from the order to stop on. */
  check(): HealthCheck {
    return {
      name: 'accepting',
      check: () =>
        this.#isOn ? Promise.reject(new Error('The process is about to end.')) : Promise.resolve(),
    };
  }
}

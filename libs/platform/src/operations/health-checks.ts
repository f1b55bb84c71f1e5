/** One thing that the process needs. */
export interface HealthCheck {
  /** As it appears in the answer: `database`. */
  readonly name: string;
  /** Rejects, or does not answer, when it is not there. */
  check(): Promise<void>;
  /** The process does its work without it. */
  readonly isOptional?: boolean;
}

export type HealthState = 'ok' | 'failed' | 'timed out';

export interface Readiness {
  /** Degraded: ready, and only something optional is missing. */
  readonly status: 'ok' | 'degraded' | 'unavailable';
  readonly checks: Readonly<Record<string, HealthState>>;
}

const DEADLINE_MS = 2_000;

/** Whether the process can do its work now, and if not, what it lacks. */
export class HealthChecks {
  constructor(private readonly checks: readonly HealthCheck[]) {}

  /** Asks all at once; answers within two seconds. */
  async readiness(): Promise<Readiness> {
    const states = await Promise.all(this.checks.map(stateOf));
    const missing = this.checks.filter((_, index) => states[index] !== 'ok');
    const without = missing.every(({ isOptional }) => isOptional) ? 'degraded' : 'unavailable';
    return {
      status: missing.length === 0 ? 'ok' : without,
      checks: Object.fromEntries(this.checks.map(({ name }, index) => [name, states[index]!])),
    };
  }
}

async function stateOf(check: HealthCheck): Promise<HealthState> {
  const late = Promise.withResolvers<HealthState>();
  const timer = setTimeout(() => late.resolve('timed out'), DEADLINE_MS);
  const asked = check.check().then(
    (): HealthState => 'ok',
    (): HealthState => 'failed',
  );
  try {
    return await Promise.race([asked, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

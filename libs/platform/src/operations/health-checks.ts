/** One thing that the process needs. */
export interface HealthCheck {
  /** As it appears in the answer: `database`. */
  readonly name: string;
  /** Rejects, or does not answer, when it is not there. */
  check(): Promise<void>;
  /** Why `check` was rejected, in words that may be seen by anybody. Null, or left out, when nobody knows. */
  reasonOf?(error: unknown): string | null;
  /** The process does its work without it. */
  readonly isOptional?: boolean;
}

export type HealthState = 'ok' | 'failed' | 'timed out';

export interface Readiness {
  /** Degraded: ready, and only something optional is missing. */
  readonly status: 'ok' | 'degraded' | 'unavailable';
  readonly checks: Readonly<Record<string, HealthState>>;
  /** Why checks have failed, where that is known. */
  readonly reasons?: Readonly<Record<string, string>>;
}

interface Outcome {
  readonly state: HealthState;
  readonly reason?: string | null;
}

const DEADLINE_MS = 2_000;

/** Whether the process can do its work now, and if not, what it lacks. */
export class HealthChecks {
  constructor(private readonly checks: readonly HealthCheck[]) {}

  /** Asks all at once; answers within two seconds. */
  async readiness(): Promise<Readiness> {
    const outcomes = await Promise.all(this.checks.map(outcomeOf));
    const missing = this.checks.filter((_, index) => outcomes[index]?.state !== 'ok');
    const without = missing.every(({ isOptional }) => isOptional) ? 'degraded' : 'unavailable';
    return {
      status: missing.length === 0 ? 'ok' : without,
      checks: Object.fromEntries(this.checks.map(({ name }, index) => [name, outcomes[index]!.state])),
      ...reasonsOf(this.checks, outcomes),
    };
  }
}

function reasonsOf(checks: readonly HealthCheck[], outcomes: readonly Outcome[]): Pick<Readiness, 'reasons'> {
  const known = checks.flatMap(({ name }, index) => {
    const reason = outcomes[index]?.reason ?? null;
    return reason === null ? [] : [[name, reason] as const];
  });
  return known.length === 0 ? {} : { reasons: Object.fromEntries(known) };
}

async function outcomeOf(check: HealthCheck): Promise<Outcome> {
  const late = Promise.withResolvers<Outcome>();
  const timer = setTimeout(() => late.resolve({ state: 'timed out' }), DEADLINE_MS);
  const asked = check.check().then(
    (): Outcome => ({ state: 'ok' }),
    (error: unknown): Outcome => ({ state: 'failed', reason: check.reasonOf?.(error) ?? null }),
  );
  try {
    return await Promise.race([asked, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

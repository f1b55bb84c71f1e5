export const CREDIT_TRANSACTION_TYPES = [
  'GRANT',
  'PURCHASE',
  'CONSUMPTION',
  'REFUND',
  'ADJUSTMENT',
  'EXPIRATION',
] as const;
export type CreditTransactionType = (typeof CREDIT_TRANSACTION_TYPES)[number];

/** One row of a tenant's ledger. */
export interface CreditTransaction {
  readonly id: string;
  readonly type: CreditTransactionType;
  /** What it added; negative for what it took. */
  readonly amount: number;
  /** The sum of all amounts up to this one. */
  readonly balanceAfter: number;
  readonly referenceId: string | null;
  readonly description: string | null;
  readonly createdAt: Date;
}

export interface CreditBalance {
  readonly balance: number;
  /** There is nothing left, or less than what was refused last. */
  readonly creditsDepleted: boolean;
  /** Null before the first transaction. */
  readonly lastUpdatedAt: Date | null;
}

/** Credits that do not lapse. */
export interface CreditAddition {
  readonly type: 'GRANT' | 'PURCHASE' | 'ADJUSTMENT';
  /** A whole number; only an ADJUSTMENT may be negative. */
  readonly credits: number;
  readonly description?: string | null;
  readonly referenceId?: string | null;
  /** Of what may happen once only, such as an invoice's purchase: the second time nothing is added. */
  readonly onceKey?: string;
}

/** What work that is under way may cost at most, and for what. */
export interface CreditRequest {
  readonly credits: number;
  /** What the credits are used for: an id of the consumer's. */
  readonly referenceId: string;
  readonly description: string;
  /** How long the work may take before the credits go back by themselves, ms. */
  readonly heldForMs: number;
}

export type CreditReservation =
  | { readonly reserved: true; readonly id: string }
  /** Refused: too few credits, or the plan's AI requests of the month are used up. */
  | { readonly reserved: false; readonly lacking: 'credits' | 'requests' };

const MOST_CREDITS = 1_000_000_000;

/** What is wrong with an addition, by field; empty when nothing is. */
export function additionFaults({ type, credits, description }: CreditAddition): Record<string, string> {
  const faults: Record<string, string> = {};
  if (!Number.isSafeInteger(credits) || credits === 0 || Math.abs(credits) > MOST_CREDITS) {
    faults['credits'] = `must be an integer other than 0, at most ${MOST_CREDITS}`;
  } else if (credits < 0 && type !== 'ADJUSTMENT') {
    faults['credits'] = 'must be more than 0';
  }
  if (typeof description === 'string' && (description.trim() === '' || description.length > 500)) {
    faults['description'] = 'must be 1 to 500 characters';
  }
  return faults;
}

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
  /** Negative when credits were taken. */
  readonly amount: number;
  /** The sum of all amounts up to this one. */
  readonly balanceAfter: number;
  readonly referenceId: string | null;
  readonly description: string | null;
  readonly createdAt: Date;
}

export interface CreditBalance {
  readonly balance: number;
  /** True when nothing is left, or less than the last refused request. */
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
  /** Key of an addition that happens once only, such as an invoice's purchase: nothing is added the second time. */
  readonly onceKey?: string;
}

/** A request for the credits that work may cost at most. */
export interface CreditRequest {
  readonly credits: number;
  /** The consumer's id of the work. */
  readonly referenceId: string;
  readonly description: string;
  /** Time after which unsettled credits go back by themselves, ms. */
  readonly heldForMs: number;
}

export type CreditReservation =
  | { readonly reserved: true; readonly id: string }
  /** Refused: too few credits, or the plan's AI requests of the month are used up. */
  | { readonly reserved: false; readonly lacking: 'credits' | 'requests' };

const MOST_CREDITS = 1_000_000_000;

/** Faults of an addition by field; empty for a valid one. */
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

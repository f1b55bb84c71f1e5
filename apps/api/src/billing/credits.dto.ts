import { z } from 'zod';
import { CREDIT_TRANSACTION_TYPES, type CreditBalance, type CreditTransaction } from '#billing';
import { int64, pageOf, timestamp } from '#platform/http';

export const creditBalanceView = z
  .object({
    balance: int64.meta({
      description: 'The available credits, without those reserved for work in progress.',
    }),
    creditsDepleted: z
      .boolean()
      .meta({ description: 'Whether no credits are left, or fewer than the last refused request needed.' }),
    lastUpdatedAt: timestamp.nullable(),
  })
  .meta({ id: 'CreditBalance' });

const creditTransactionView = z
  .object({
    id: z.uuid(),
    type: z.enum(CREDIT_TRANSACTION_TYPES).nullable(),
    amount: int64.meta({ description: 'Credits added; negative for credits taken.', example: -12 }),
    balanceAfter: int64.meta({ description: 'The sum of all amounts up to this one.' }),
    referenceId: z
      .uuid()
      .nullable()
      .meta({ description: 'What used the credits, such as a version of a report.' }),
    description: z.string().nullable(),
    createdAt: timestamp,
  })
  .meta({ id: 'CreditTransaction' });

export const creditTransactionPage = pageOf(creditTransactionView, 'CreditTransactionPage');

export function toCreditBalanceView(balance: CreditBalance): z.output<typeof creditBalanceView> {
  return { ...balance, lastUpdatedAt: balance.lastUpdatedAt?.toISOString() ?? null };
}

export function toCreditTransactionView(row: CreditTransaction): z.output<typeof creditTransactionView> {
  return { ...row, createdAt: row.createdAt.toISOString() };
}

import { Get, Query } from '@nestjs/common';
import type { z } from 'zod';
import { CreditsQuery } from '#billing';
import type { ProjectScope } from '#kernel';
import { ApiController, InScope, Operation, pageQuery, PLACES, toPage } from '#platform/http';
import {
  creditBalanceView,
  creditTransactionPage,
  toCreditBalanceView,
  toCreditTransactionView,
} from './credits.dto.js';

const transactionListQuery = pageQuery({}, [PLACES.number]);

/** AI credits belong to the tenant: all its projects and both environments share them. */
@ApiController('credits', { tag: 'AI credits' })
export class CreditsController {
  constructor(private readonly credits: CreditsQuery) {}

  @Get('balance')
  @Operation({
    operationId: 'getCreditBalance',
    summary: 'Get the balance of AI credits',
    scope: 'credits:read',
    response: { status: 200, schema: creditBalanceView },
  })
  async balance(@InScope() scope: ProjectScope): Promise<z.output<typeof creditBalanceView>> {
    return toCreditBalanceView(await this.credits.balance(scope));
  }

  @Get('transactions')
  @Operation({
    operationId: 'listCreditTransactions',
    summary: 'List the ledger of AI credits, newest first',
    scope: 'credits:read',
    query: transactionListQuery,
    response: { status: 200, schema: creditTransactionPage },
  })
  async transactions(
    @InScope() scope: ProjectScope,
    @Query({ schema: transactionListQuery }) query: z.output<typeof transactionListQuery>,
  ): Promise<z.output<typeof creditTransactionPage>> {
    return toPage(query, await this.credits.transactions(scope, query), toCreditTransactionView);
  }
}

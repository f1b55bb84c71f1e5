import { Get, Param, Query } from '@nestjs/common';
import type { z } from 'zod';
import type { ProjectScope } from '#kernel';
import { DeliveriesQuery } from '#messaging';
import { ApiController, InScope, Operation, toPage } from '#platform/http';
import { deliveryListQuery, deliveryPage, toDeliveryView } from './delivery.dto.js';

@ApiController('campaigns/:campaignKey/deliveries', { tag: 'Campaign reports' })
export class DeliveriesController {
  constructor(private readonly deliveries: DeliveriesQuery) {}

  @Get()
  @Operation({
    operationId: 'listDeliveries',
    summary: 'List the deliveries of a campaign',
    description: 'One for each recipient, the newest subscriber first, without test mails.',
    scope: 'reports:read',
    query: deliveryListQuery,
    response: { status: 200, schema: deliveryPage },
  })
  async list(
    @InScope() scope: ProjectScope,
    @Param('campaignKey') campaignKey: string,
    @Query({ schema: deliveryListQuery }) query: z.output<typeof deliveryListQuery>,
  ) {
    const page = await this.deliveries.list(scope, campaignKey, query, query.status);
    return toPage(query, page, toDeliveryView);
  }
}

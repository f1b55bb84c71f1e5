import { Get, Inject, Param, Query } from '@nestjs/common';
import type { z } from 'zod';
import type { ProjectScope } from '#kernel';
import { DeliveriesQuery } from '#messaging';
import { ApiController, InScope, Operation, toPage } from '#platform/http';
import { deliveryListQuery, deliveryPage, toDeliveryView } from './delivery.dto.js';

@ApiController('campaigns/:campaignKey/deliveries', { tag: 'Campaign reports' })
export class DeliveriesController {
  constructor(@Inject(DeliveriesQuery) private readonly deliveries: DeliveriesQuery) {}

  @Get()
  @Operation({
    operationId: 'listDeliveries',
    summary: 'List who a campaign was written down for, and how each delivery stands',
    description: 'The youngest subscriber first. Test mails are not among them.',
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

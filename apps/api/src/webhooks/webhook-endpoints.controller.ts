import { Body, Delete, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import type { z } from 'zod';
import type { ProjectScope } from '#kernel';
import { ApiController, InScope, Operation, toPage } from '#platform/http';
import { WebhookEndpointsService, WebhookLogService } from '#webhooks';
import {
  createEndpointBody,
  deliveryListQuery,
  deliveryPage,
  deliveryView,
  endpointListQuery,
  endpointPage,
  endpointTestView,
  endpointView,
  endpointWithSecret,
  replayBody,
  replayView,
  rotateSecretBody,
  updateEndpointBody,
} from './webhook-endpoints.dto.js';

/** URLs that a project’s events are posted to. */
@ApiController('webhook-endpoints', { tag: 'Webhooks' })
export class WebhookEndpointsController {
  constructor(
    private readonly endpoints: WebhookEndpointsService,
    private readonly log: WebhookLogService,
  ) {}

  @Get()
  @Operation({
    operationId: 'listWebhookEndpoints',
    sdk: 'webhookEndpoints.all',
    summary: 'List webhook endpoints, newest first',
    scope: 'webhooks:read',
    query: endpointListQuery,
    response: { status: 200, schema: endpointPage },
  })
  async list(
    @InScope() scope: ProjectScope,
    @Query({ schema: endpointListQuery }) asked: z.output<typeof endpointListQuery>,
  ) {
    return toPage(asked, await this.endpoints.list(scope, asked));
  }

  @Post()
  @Operation({
    operationId: 'createWebhookEndpoint',
    sdk: 'webhookEndpoints.create',
    summary: 'Create a webhook endpoint',
    description:
      'It is told what happens from 2 seconds later on, signed with `secret`, which no other answer shows. At most 20 in an environment.',
    scope: 'webhooks:write',
    body: createEndpointBody,
    response: { status: 201, schema: endpointWithSecret, location: ({ id }) => `webhook-endpoints/${id}` },
  })
  create(
    @InScope() scope: ProjectScope,
    @Body({ schema: createEndpointBody })
    { description = null, ...wanted }: z.output<typeof createEndpointBody>,
  ) {
    return this.endpoints.create(scope, { ...wanted, description });
  }

  @Get(':id')
  @Operation({
    operationId: 'getWebhookEndpoint',
    sdk: 'webhookEndpoints.get',
    summary: 'Get a webhook endpoint',
    scope: 'webhooks:read',
    response: { status: 200, schema: endpointView },
  })
  get(@InScope() scope: ProjectScope, @Param('id') id: string) {
    return this.endpoints.get(scope, id);
  }

  @Patch(':id')
  @Operation({
    operationId: 'updateWebhookEndpoint',
    sdk: 'webhookEndpoints.update',
    summary: 'Change, disable or enable a webhook endpoint',
    description: 'JSON merge-patch (RFC 7396). Posts that wait go to the new URL.',
    scope: 'webhooks:write',
    body: updateEndpointBody,
    response: { status: 200, schema: endpointView },
  })
  update(
    @InScope() scope: ProjectScope,
    @Param('id') id: string,
    @Body({ schema: updateEndpointBody }) patch: z.output<typeof updateEndpointBody>,
  ) {
    return this.endpoints.change(scope, id, patch);
  }

  @Delete(':id')
  @Operation({
    operationId: 'deleteWebhookEndpoint',
    sdk: 'webhookEndpoints.delete',
    summary: 'Delete a webhook endpoint',
    description: 'With its deliveries; what waits is not posted.',
    scope: 'webhooks:write',
    response: { status: 204 },
  })
  async remove(@InScope() scope: ProjectScope, @Param('id') id: string) {
    await this.endpoints.remove(scope, id);
  }

  @Post(':id/rotate-secret')
  @HttpCode(200)
  @Operation({
    operationId: 'rotateWebhookSecret',
    sdk: 'webhookEndpoints.rotateSecret',
    summary: 'Get a new signing secret',
    description:
      'Shown this once. The previous one signs beside it for `overlapHours`: a receiver that knows either accepts the posts. One before that signs no more.',
    scope: 'webhooks:write',
    body: rotateSecretBody,
    response: { status: 200, schema: endpointWithSecret },
  })
  rotateSecret(
    @InScope() scope: ProjectScope,
    @Param('id') id: string,
    @Body({ schema: rotateSecretBody }) { overlapHours }: z.output<typeof rotateSecretBody>,
  ) {
    return this.endpoints.rotateSecret(scope, id, overlapHours);
  }

  @Post(':id/test')
  @HttpCode(200)
  @Operation({
    operationId: 'testWebhookEndpoint',
    sdk: 'webhookEndpoints.test',
    summary: 'Post a test to a webhook endpoint',
    description:
      'A signed `webhook.test` with `sequence` 0, also to a disabled endpoint. Says what it answered within 5 s; the test is in no list, and changes nothing, whatever the answer.',
    scope: 'webhooks:write',
    response: { status: 200, schema: endpointTestView },
  })
  test(@InScope() scope: ProjectScope, @Param('id') id: string) {
    return this.endpoints.test(scope, id);
  }

  @Get(':id/deliveries')
  @Operation({
    operationId: 'listWebhookDeliveries',
    sdk: 'webhookEndpoints.deliveries',
    summary: 'List the deliveries to a webhook endpoint, newest first',
    description: 'Each is one event; they are kept for 30 days.',
    scope: 'webhooks:read',
    query: deliveryListQuery,
    response: { status: 200, schema: deliveryPage },
  })
  async deliveries(
    @InScope() scope: ProjectScope,
    @Param('id') id: string,
    @Query({ schema: deliveryListQuery }) query: z.output<typeof deliveryListQuery>,
  ) {
    return toPage(query, await this.log.deliveries(scope, id, query, query));
  }

  @Post(':id/deliveries/:deliveryId/replay')
  @Operation({
    operationId: 'replayWebhookDelivery',
    sdk: 'webhookEndpoints.replayDelivery',
    summary: 'Post a delivery once more',
    description:
      'At once: by the delivery of the event that still waits, or by a new one. Twice is once, as long as that one has not ended.',
    scope: 'webhooks:write',
    response: { status: 202, schema: deliveryView },
    problems: [409],
  })
  replayOne(
    @InScope() scope: ProjectScope,
    @Param('id') id: string,
    @Param('deliveryId') deliveryId: string,
  ) {
    return this.log.replayOne(scope, deliveryId, id);
  }

  @Post(':id/replay')
  @Operation({
    operationId: 'replayWebhooks',
    sdk: 'webhookEndpoints.replay',
    summary: 'Post once more what a webhook endpoint did not accept',
    description:
      'Each event once, and none that still waits or was accepted meanwhile, so that twice is once. The oldest first, at most 10 000 at once.',
    scope: 'webhooks:write',
    body: replayBody,
    response: { status: 202, schema: replayView },
    problems: [409],
  })
  replay(
    @InScope() scope: ProjectScope,
    @Param('id') id: string,
    @Body({ schema: replayBody }) body: z.output<typeof replayBody>,
  ) {
    return this.log.replay(scope, id, body);
  }
}

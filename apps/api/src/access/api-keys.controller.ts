import { Body, Delete, Get, Param, Patch, Post, Query } from '@nestjs/common';
import type { z } from 'zod';
import { ApiKeysService, type ApiKeyView } from '#access';
import {
  ApiController,
  type AuthenticatedCaller,
  Caller,
  InScope,
  Operation,
  pageQuery,
  toPage,
} from '#platform/http';
import type { ProjectScope } from '#kernel';
import {
  apiKeyPage,
  apiKeyView,
  createApiKeyBody,
  createdApiKeyView,
  rotateApiKeyBody,
  updateApiKeyBody,
} from './api-keys.dto.js';

const apiKeyListQuery = pageQuery({});

const SHOWN_ONCE =
  '`key` is shown in this answer alone; the same request with its `Idempotency-Key` gets the same answer for 24 hours.';

/** Keys of the caller's environment. */
@ApiController('api-keys', { tag: 'API keys' })
export class ApiKeysController {
  constructor(private readonly apiKeys: ApiKeysService) {}

  @Get()
  @Operation({
    operationId: 'listApiKeys',
    sdk: 'apiKeys.all',
    summary: 'List API keys, newest first',
    description: 'Those that were revoked or have expired, too.',
    scope: 'keys:manage',
    query: apiKeyListQuery,
    response: { status: 200, schema: apiKeyPage },
  })
  async list(
    @InScope() scope: ProjectScope,
    @Query({ schema: apiKeyListQuery }) asked: z.output<typeof apiKeyListQuery>,
  ) {
    const page = await this.apiKeys.page(scope, asked);
    return toPage(asked, { ...page, items: page.items.map(shownKey) });
  }

  @Post()
  @Operation({
    operationId: 'createApiKey',
    sdk: 'apiKeys.create',
    summary: 'Make an API key',
    description: `Of this project and environment, with nothing that the key that asks has not got itself. ${SHOWN_ONCE}`,
    scope: 'keys:manage',
    body: createApiKeyBody,
    response: { status: 201, schema: createdApiKeyView, location: ({ id }) => `api-keys/${id}` },
  })
  async create(
    @Caller() { scope, keyId }: AuthenticatedCaller,
    @Body({ schema: createApiKeyBody }) { allowedNetworks, ...wanted }: z.output<typeof createApiKeyBody>,
  ) {
    const networks = allowedNetworks == null ? {} : { allowedNetworks };
    return shownKey(await this.apiKeys.create(scope, { ...wanted, ...networks }, keyId));
  }

  @Get('current')
  @Operation({
    operationId: 'getCurrentApiKey',
    sdk: 'apiKeys.current',
    summary: 'Get the key that asks',
    scope: null,
    response: { status: 200, schema: apiKeyView },
  })
  async current(@Caller() { scope, keyId }: AuthenticatedCaller) {
    return shownKey(await this.apiKeys.get(scope, keyId));
  }

  @Get(':id')
  @Operation({
    operationId: 'getApiKey',
    sdk: 'apiKeys.get',
    summary: 'Get an API key',
    scope: 'keys:manage',
    response: { status: 200, schema: apiKeyView },
  })
  async get(@InScope() scope: ProjectScope, @Param('id') id: string) {
    return shownKey(await this.apiKeys.get(scope, id));
  }

  @Patch(':id')
  @Operation({
    operationId: 'updateApiKey',
    sdk: 'apiKeys.update',
    summary: 'Change an API key',
    description:
      'JSON merge-patch (RFC 7396). Scopes and end stay. The key must have nothing that the key that asks has not got itself.',
    scope: 'keys:manage',
    body: updateApiKeyBody,
    response: { status: 200, schema: apiKeyView },
  })
  async update(
    @Caller() { scope, keyId }: AuthenticatedCaller,
    @Param('id') id: string,
    @Body({ schema: updateApiKeyBody })
    { name, rateLimitPerMinute, allowedNetworks }: z.output<typeof updateApiKeyBody>,
  ) {
    const changes = {
      ...(name === undefined ? {} : { name }),
      ...(rateLimitPerMinute === undefined ? {} : { rateLimitPerMinute }),
      ...(allowedNetworks === undefined ? {} : { allowedNetworks: allowedNetworks ?? [] }),
    };
    return shownKey(await this.apiKeys.change(scope, id, changes, keyId));
  }

  @Delete(':id')
  @Operation({
    operationId: 'revokeApiKey',
    sdk: 'apiKeys.revoke',
    summary: 'Revoke an API key',
    description:
      'For good: it is refused within five seconds, and stays in the list. Revoking it again changes nothing. The key may have more than the ' +
      'key that asks. The last usable key with `keys:manage` of the environment is not revoked (409).',
    scope: 'keys:manage',
    response: { status: 204 },
    problems: [409],
  })
  async revoke(@Caller() { scope, keyId }: AuthenticatedCaller, @Param('id') id: string) {
    await this.apiKeys.revoke(scope, id, keyId);
  }

  @Post(':id/rotate')
  @Operation({
    operationId: 'rotateApiKey',
    sdk: 'apiKeys.rotate',
    summary: 'Make a successor of an API key',
    description:
      'Another key with the same name, grants and end; the one before works on for `overlapHours`. It must be ACTIVE, with nothing that the ' +
      `key that asks has not got itself. ${SHOWN_ONCE}`,
    scope: 'keys:manage',
    body: rotateApiKeyBody,
    response: { status: 201, schema: createdApiKeyView, location: ({ id }) => `api-keys/${id}` },
    problems: [409],
  })
  async rotate(
    @Caller() { scope, keyId }: AuthenticatedCaller,
    @Param('id') id: string,
    @Body({ schema: rotateApiKeyBody }) { overlapHours }: z.output<typeof rotateApiKeyBody>,
  ) {
    return shownKey(await this.apiKeys.rotate(scope, id, overlapHours, keyId));
  }
}

/** A key as it is shown. */
export function shownKey<Key extends ApiKeyView>({ createdBy, ...key }: Key) {
  return { ...key, createdBy: createdBy ?? 'OPERATOR' };
}

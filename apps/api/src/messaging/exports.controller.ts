import { Body, Get, Param, Post } from '@nestjs/common';
import type { z } from 'zod';
import type { ApiScope } from '#kernel';
import { DataExportsService, type ExportKind } from '#messaging';
import { ApiController, type AuthenticatedCaller, Caller, Operation, requireScopeOf } from '#platform/http';
import { createExportBody, exportView } from './exports.dto.js';

/** The scope that shows the same rows elsewhere. */
const SCOPES: Readonly<Record<ExportKind, ApiScope>> = {
  SUBSCRIBERS: 'subscribers:read',
  CONSENTS: 'consents:manage',
  SUPPRESSIONS: 'suppressions:manage',
  EVENTS: 'subscribers:read',
  DELIVERIES: 'reports:read',
};

@ApiController('exports', { tag: 'Exports' })
export class ExportsController {
  constructor(private readonly exports: DataExportsService) {}

  @Post()
  @Operation({
    operationId: 'createExport',
    sdk: 'exports.create',
    summary: 'Export data as a file',
    description:
      'A worker writes the file, of one moment, however long it takes. Ask for the export until it is COMPLETED, then take the ' +
      'file from its `url`. The same order again before the worker has begun is the same export. The scope that the key needs is ' +
      'that of the rows: see `what`. At most 20 exports an hour.',
    scope: null,
    body: createExportBody,
    response: { status: 202, schema: exportView, location: ({ id }) => `exports/${id}` },
    problems: [403],
  })
  create(
    @Caller() caller: AuthenticatedCaller,
    @Body({ schema: createExportBody }) { what, format, segmentKey }: z.output<typeof createExportBody>,
  ) {
    requireScopeOf(caller, SCOPES[what]);
    const isMasked = what === 'DELIVERIES' && !caller.scopes.has('subscribers:read');
    return this.exports.order(caller.scope, { what, format, segmentKey: segmentKey ?? undefined, isMasked });
  }

  @Get(':id')
  @Operation({
    operationId: 'getExport',
    sdk: 'exports.get',
    summary: 'Get an export',
    description: 'Needs the scope with which it was asked for. Kept for 30 days, the file for an hour.',
    scope: null,
    response: { status: 200, schema: exportView },
    problems: [403],
  })
  async get(@Caller() caller: AuthenticatedCaller, @Param('id') id: string) {
    const found = await this.exports.get(caller.scope, id);
    requireScopeOf(caller, SCOPES[found.what]);
    return found;
  }
}

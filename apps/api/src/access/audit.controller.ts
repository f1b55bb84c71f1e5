import { Readable } from 'node:stream';
import { Get, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import { Clock, type ProjectScope } from '#kernel';
import { AuditLogService, RequestsQuery } from '#platform';
import { ApiController, InScope, Operation, toPage } from '#platform/http';
import {
  auditExportQuery,
  auditListQuery,
  auditPage,
  loggedRequestPage,
  requestListQuery,
  toAuditFilter,
} from './audit.dto.js';

const NDJSON = 'application/x-ndjson; charset=utf-8';

/** Requests that changed something, or would have. */
@ApiController('audit-log', { tag: 'Audit' })
export class AuditLogController {
  constructor(
    private readonly log: AuditLogService,
    private readonly clock: Clock,
  ) {}

  @Get()
  @Operation({
    operationId: 'listAuditLog',
    sdk: 'auditLog.all',
    summary: 'List the requests that changed something, or were refused',
    description:
      'One entry for each request but reads, newest first, for 400 days. With filters, `totalElements` counts at most 10 000 entries.',
    scope: 'audit:read',
    query: auditListQuery,
    response: { status: 200, schema: auditPage },
    problems: [422],
  })
  async list(
    @InScope() scope: ProjectScope,
    @Query({ schema: auditListQuery }) query: z.output<typeof auditListQuery>,
  ) {
    return toPage(query, await this.log.page(scope, toAuditFilter(query, this.clock.now()), query));
  }

  @Get('export')
  @Operation({
    operationId: 'exportAuditLog',
    sdk: 'auditLog.export',
    summary: 'Download the audit log as lines of JSON',
    description:
      'Newest first, of any size. The last member of each line is `hash`: the SHA-256 of the line without it, in which ' +
      '`previousHash` is that of the entry before. Two lines next to each other so prove each other.',
    scope: 'audit:read',
    query: auditExportQuery,
    response: { status: 200, contentType: NDJSON },
    problems: [422],
    timeoutMs: 600_000,
  })
  export(
    @InScope() scope: ProjectScope,
    @Query({ schema: auditExportQuery }) query: z.output<typeof auditExportQuery>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const lines = this.log.lines(scope, toAuditFilter(query, this.clock.now()));
    reply.type(NDJSON).header('content-disposition', 'attachment; filename="audit-log.ndjson"');
    return Readable.from(lines, { objectMode: false });
  }
}

/** Requests of the last day. */
@ApiController('requests', { tag: 'Audit' })
export class RequestsController {
  constructor(private readonly requests: RequestsQuery) {}

  @Get()
  @Operation({
    operationId: 'listRequests',
    sdk: 'requests.all',
    summary: 'List the requests of the last 24 hours',
    description:
      'Reads too, newest first, without queries and bodies. They are written together: one that was answered in the last second may be missing, and a crash of the database loses all. At most 10 000 are counted.',
    scope: 'audit:read',
    query: requestListQuery,
    response: { status: 200, schema: loggedRequestPage },
  })
  async list(
    @InScope() scope: ProjectScope,
    @Query({ schema: requestListQuery }) query: z.output<typeof requestListQuery>,
  ) {
    const { items, ...page } = await this.requests.page(scope, query, query);
    const rows = items.map(({ answeredAt, ...one }) => ({
      ...one,
      createdAt: answeredAt,
      updatedAt: answeredAt,
    }));
    return toPage(query, { items: rows, ...page });
  }
}

import { Get, Query } from '@nestjs/common';
import type { z } from 'zod';
import type { ProjectScope } from '#kernel';
import { MailStatisticsQuery } from '#messaging';
import { ApiController, InScope, Operation } from '#platform/http';
import { statisticsQuery, statisticsView } from './statistics.dto.js';

@ApiController('statistics', { tag: 'Campaign reports' })
export class StatisticsController {
  constructor(private readonly statistics: MailStatisticsQuery) {}

  @Get()
  @Operation({
    operationId: 'getStatistics',
    sdk: 'reports.overTime',
    summary: 'Get numbers over campaigns and time',
    description:
      'Mails of campaigns and automations in a time, by campaign, automation, topic, mailbox provider or relay. Exact at ' +
      'once, and kept when mails and events are let go. Whole buckets are told: `from` and `to` of the answer say which.',
    scope: 'reports:read',
    query: statisticsQuery,
    response: { status: 200, schema: statisticsView },
  })
  get(
    @InScope() scope: ProjectScope,
    @Query({ schema: statisticsQuery }) query: z.output<typeof statisticsQuery>,
  ) {
    return this.statistics.of(scope, query);
  }
}

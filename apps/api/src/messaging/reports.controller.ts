import { Get, Inject, Param, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { ProjectScope } from '#kernel';
import { CampaignStatisticsQuery, ReportExportsService } from '#messaging';
import { ApiController, InScope, Operation } from '#platform/http';
import { campaignStatisticsView, toStatisticsView } from './report.dto.js';

const CSV = 'text/csv; charset=utf-8';

@ApiController('campaigns/:campaignKey/report', { tag: 'Campaign reports' })
export class ReportsController {
  constructor(
    @Inject(CampaignStatisticsQuery) private readonly statisticsQuery: CampaignStatisticsQuery,
    @Inject(ReportExportsService) private readonly exports: ReportExportsService,
  ) {}

  @Get('statistics')
  @Operation({
    operationId: 'getCampaignStatistics',
    summary: 'Get a campaign’s numbers',
    description: 'All zero before sending.',
    scope: 'reports:read',
    response: { status: 200, schema: campaignStatisticsView },
  })
  async statistics(@InScope() scope: ProjectScope, @Param('campaignKey') campaignKey: string) {
    return toStatisticsView((await this.statisticsQuery.of(scope, campaignKey)).statistics);
  }

  @Get('export')
  @Operation({
    operationId: 'exportCampaignReport',
    summary: 'Download a campaign’s numbers as CSV',
    description: 'One header and one row (RFC 4180). The worker makes the file; 503 when none does in time.',
    scope: 'reports:read',
    response: { status: 200, contentType: CSV },
  })
  async export(
    @InScope() scope: ProjectScope,
    @Param('campaignKey') campaignKey: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const csv = await this.exports.statistics(scope, campaignKey);
    reply.type(CSV).header('content-disposition', `attachment; filename="${campaignKey}-report.csv"`);
    return csv;
  }
}

import { Readable } from 'node:stream';
import { Body, Get, HttpCode, Param, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import type { ProjectScope } from '#kernel';
import {
  CampaignLinksQuery,
  CampaignOverviewQuery,
  CampaignReportsService,
  CampaignStatisticsQuery,
  DeliveriesQuery,
  ReportExportsService,
  TimelineQuery,
} from '#messaging';
import { ApiController, type AuthenticatedCaller, Caller, InScope, Operation, toPage } from '#platform/http';
import {
  campaignLanguagesView,
  campaignLinks,
  campaignReportView,
  campaignStatisticsView,
  campaignVariantsView,
  deliveryListQuery,
  deliveryPage,
  exportQuery,
  reportLinkBody,
  reportLinkView,
  timeline,
  timelineQuery,
} from './campaign-report.dto.js';

const CSV = 'text/csv; charset=utf-8';

@ApiController('campaigns/:campaignKey', { tag: 'Campaign reports' })
export class CampaignReportsController {
  constructor(
    private readonly reports: CampaignReportsService,
    private readonly statisticsQuery: CampaignStatisticsQuery,
    private readonly overviews: CampaignOverviewQuery,
    private readonly linksQuery: CampaignLinksQuery,
    private readonly timelines: TimelineQuery,
    private readonly exports: ReportExportsService,
    private readonly deliveries: DeliveriesQuery,
  ) {}

  @Get('report')
  @Operation({
    operationId: 'getCampaignReport',
    sdk: 'reports.get',
    summary: 'Get the written report on a campaign',
    description:
      'The latest version. It is generated an hour after the campaign was sent; 404 before the campaign was sent.',
    scope: 'reports:read',
    response: { status: 200, schema: campaignReportView },
  })
  report(@InScope() scope: ProjectScope, @Param('campaignKey') campaignKey: string) {
    return this.reports.latest(scope, campaignKey);
  }

  @Post('report')
  @Operation({
    operationId: 'requestCampaignReport',
    sdk: 'reports.request',
    summary: 'Generate a new version of the report',
    description:
      'Starts at once and replaces a version that is still waiting. Costs AI credits when a model writes it. 409 ' +
      'before the campaign was sent.',
    scope: 'campaigns:write',
    response: { status: 202, schema: campaignReportView },
    problems: [409],
  })
  request(@InScope() scope: ProjectScope, @Param('campaignKey') campaignKey: string) {
    return this.reports.request(scope, campaignKey);
  }

  @Get('report/statistics')
  @Operation({
    operationId: 'getCampaignStatistics',
    sdk: 'reports.statistics',
    summary: 'Get a campaign’s numbers',
    description: 'All zero before sending.',
    scope: 'reports:read',
    response: { status: 200, schema: campaignStatisticsView },
  })
  async statistics(@InScope() scope: ProjectScope, @Param('campaignKey') campaignKey: string) {
    return (await this.statisticsQuery.of(scope, campaignKey)).statistics;
  }

  @Get('report/languages')
  @Operation({
    operationId: 'getCampaignLanguages',
    sdk: 'reports.languages',
    summary: 'Get a campaign’s numbers by language',
    description:
      'By the translation in which mails were sent. Counted when somebody asks; those of a campaign with more than ' +
      '50 000 mails within a minute of it.',
    scope: 'reports:read',
    response: { status: 200, schema: campaignLanguagesView },
  })
  byLanguage(@InScope() scope: ProjectScope, @Param('campaignKey') campaignKey: string) {
    return this.overviews.languages(scope, campaignKey);
  }

  @Get('report/variants')
  @Operation({
    operationId: 'getCampaignVariants',
    sdk: 'reports.variants',
    summary: 'Get the results of a campaign’s A/B test',
    description:
      'What became of the mails of each variant’s share of the test, also after the decision, with the counts that decided beside; the ' +
      'rest of the audience, who got the winner, is apart. Rates with 95 % confidence (Wilson’s interval); `pValue` by the z-test of ' +
      'two proportions, by Fisher’s exact test where cases are rare. Counted when somebody asks; those of a campaign with more than ' +
      '50 000 mails within a minute of it.',
    scope: 'reports:read',
    response: { status: 200, schema: campaignVariantsView },
  })
  variants(@InScope() scope: ProjectScope, @Param('campaignKey') campaignKey: string) {
    return this.overviews.variants(scope, campaignKey);
  }

  @Get('report/links')
  @Operation({
    operationId: 'getCampaignLinks',
    sdk: 'reports.links',
    summary: 'Get a campaign’s clicks by link',
    description:
      'Every tracked link, the most followed first; of a campaign with translations each by its language. All `clicks` ' +
      'together are the `totalClicked` of the statistics. Empty before sending, and without tracking.',
    scope: 'reports:read',
    response: { status: 200, schema: campaignLinks },
  })
  links(@InScope() scope: ProjectScope, @Param('campaignKey') campaignKey: string) {
    return this.linksQuery.of(scope, campaignKey);
  }

  @Get('report/timeline')
  @Operation({
    operationId: 'getCampaignTimeline',
    sdk: 'reports.timeline',
    summary: 'Get a campaign’s numbers over time',
    description:
      'From the first bucket with events to the last, gaps filled with zeros; empty before sending. At most two ' +
      'days of minutes, 90 days of hours or three years of days.',
    scope: 'reports:read',
    query: timelineQuery,
    response: { status: 200, schema: timeline },
  })
  timeline(
    @InScope() scope: ProjectScope,
    @Param('campaignKey') campaignKey: string,
    @Query({ schema: timelineQuery }) { interval }: z.output<typeof timelineQuery>,
  ) {
    return this.timelines.of(scope, campaignKey, interval);
  }

  @Get('report/export')
  @Operation({
    operationId: 'exportCampaignReport',
    sdk: 'reports.export',
    summary: 'Download a campaign’s numbers as CSV',
    description:
      'One header and one row (RFC 4180), or with `rows=deliveries` one row for each recipient, whose address is masked ' +
      'without the scope `subscribers:read`. The worker makes the file; 503 when it is not ready in time.',
    scope: 'reports:read',
    query: exportQuery,
    response: { status: 200, contentType: CSV },
  })
  async export(
    @Caller() caller: AuthenticatedCaller,
    @Param('campaignKey') campaignKey: string,
    @Query({ schema: exportQuery }) { rows }: z.output<typeof exportQuery>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const { scope } = caller;
    const csv =
      rows === 'deliveries'
        ? Readable.from(await this.exports.deliveries(scope, campaignKey, showsAddresses(caller)), {
            objectMode: false,
          })
        : await this.exports.statistics(scope, campaignKey);
    reply.type(CSV).header('content-disposition', `attachment; filename="${campaignKey}-report.csv"`);
    return csv;
  }

  @Get('deliveries')
  @Operation({
    operationId: 'listDeliveries',
    sdk: 'campaigns.deliveries',
    summary: 'List the deliveries of a campaign',
    description:
      'One for each recipient, the newest subscriber first, without test mails, and what became of it. Filters hold together.',
    scope: 'reports:read',
    query: deliveryListQuery,
    response: { status: 200, schema: deliveryPage },
  })
  async listDeliveries(
    @Caller() caller: AuthenticatedCaller,
    @Param('campaignKey') campaignKey: string,
    @Query({ schema: deliveryListQuery }) query: z.output<typeof deliveryListQuery>,
  ) {
    const page = await this.deliveries.list(caller.scope, campaignKey, query, showsAddresses(caller));
    return toPage(query, page);
  }
}

@ApiController('campaign-reports/:campaignKey', { tag: 'Campaign reports' })
export class ReportLinksController {
  constructor(private readonly reports: CampaignReportsService) {}

  @Post('link')
  @HttpCode(200)
  @Operation({
    operationId: 'createReportLink',
    sdk: 'reports.link',
    summary: 'Get a link to the report of a campaign',
    description:
      'Anybody who has it sees the report on a page, without a key, until it expires; it cannot be taken back. Each call gives another one.',
    scope: 'reports:read',
    body: reportLinkBody,
    response: { status: 200, schema: reportLinkView },
    problems: [409],
  })
  link(
    @InScope() scope: ProjectScope,
    @Param('campaignKey') campaignKey: string,
    @Body({ schema: reportLinkBody }) { days }: z.output<typeof reportLinkBody>,
  ) {
    return this.reports.link(scope, campaignKey, days);
  }
}

/** False for a key that may see what became of mails, but not whose they are. */
const showsAddresses = ({ scopes }: AuthenticatedCaller): boolean => scopes.has('subscribers:read');

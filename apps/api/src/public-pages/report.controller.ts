import { Controller, Get, Inject, Param, Res, UseFilters, UseGuards } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { CampaignOverviewQuery } from '#messaging';
import { notFoundPage } from './not-found-page.js';
import { PageFailures } from './page-failures.filter.js';
import { PageLimit } from './page-limit.guard.js';
import { PageLinks } from './page-links.service.js';
import { sendPage } from './page-reply.js';
import { expiredReportPage, reportPage } from './report-page.js';

/** A campaign's report, for whoever has its link. */
@ApiExcludeController()
@UseFilters(PageFailures)
@UseGuards(PageLimit)
@Controller('r')
export class ReportController {
  constructor(
    @Inject(PageLinks) private readonly links: PageLinks,
    @Inject(CampaignOverviewQuery) private readonly overviews: CampaignOverviewQuery,
  ) {}

  @Get(':token')
  async show(@Param('token') token: string, @Res() reply: FastifyReply): Promise<void> {
    const link = await this.links.open(token, 'report');
    if (link === null) return sendPage(reply, notFoundPage);
    if (link.expired) return sendPage(reply, expiredReportPage);
    const overview = await this.overviews.of(link.scope, link.id);
    sendPage(reply, overview === null ? notFoundPage : reportPage(overview, link.sender));
  }
}

import { Get, Param, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CampaignOverviewQuery } from '#messaging';
import { notFoundPage } from './not-found-page.js';
import { PageLinks } from './page-links.service.js';
import { sendPage } from './page-reply.js';
import { viewOf } from './page-view.js';
import { PageViews } from './page-views.service.js';
import { PublicPage } from './public-page.decorator.js';
import { expiredReportPage, reportPage } from './report-page.js';

/** A campaign's report, for anybody who has its link. */
@PublicPage('r')
export class ReportController {
  constructor(
    private readonly links: PageLinks,
    private readonly views: PageViews,
    private readonly overviews: CampaignOverviewQuery,
  ) {}

  @Get(':token')
  async show(
    @Param('token') token: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const link = await this.links.open(token, 'report');
    if (link === null) return sendPage(reply, notFoundPage(viewOf(request)));
    const view = await this.views.of(request, link);
    if (link.expired) return sendPage(reply, expiredReportPage({ ...view, sender: null }));
    const overview = await this.overviews.of(link.scope, link.id);
    sendPage(reply, overview === null ? notFoundPage(viewOf(request)) : reportPage(view, overview));
  }
}

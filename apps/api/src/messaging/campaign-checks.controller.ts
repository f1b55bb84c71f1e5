import { Get, Inject, Param, Query } from '@nestjs/common';
import type { z } from 'zod';
import type { ProjectScope } from '#kernel';
import { CampaignPreviewService, PreSendAnalysisService } from '#messaging';
import { ApiController, InScope, Operation } from '#platform/http';
import {
  campaignPreviewView,
  preSendAnalysisView,
  previewQuery,
  toAnalysisView,
} from './campaign-checks.dto.js';

/** What an author looks at before sending. */
@ApiController('campaigns/:campaignKey', { tag: 'Campaigns' })
export class CampaignChecksController {
  constructor(
    @Inject(PreSendAnalysisService) private readonly analyses: PreSendAnalysisService,
    @Inject(CampaignPreviewService) private readonly previews: CampaignPreviewService,
  ) {}

  @Get('pre-send-analysis')
  @Operation({
    operationId: 'analyseCampaign',
    summary: 'Check a campaign before it is sent',
    description:
      'Any failed CRITICAL check refuses schedule and send, whatever the score. `audience.matched` is everybody who ' +
      'asked for one of its topics, and the sum of the other numbers. A campaign that can still be changed keeps ' +
      'score and status until its content or audience changes.',
    scope: 'campaigns:read',
    response: { status: 200, schema: preSendAnalysisView },
  })
  async analyse(@InScope() scope: ProjectScope, @Param('campaignKey') campaignKey: string) {
    return toAnalysisView(await this.analyses.of(scope, campaignKey));
  }

  @Get('preview')
  @Operation({
    operationId: 'previewCampaign',
    summary: 'See a campaign’s mail with its merge tags filled in',
    description:
      'For the subscriber with this address, 404 when there is none, or with sample data. Personal links lead nowhere. ' +
      'Content that cannot be made into a mail, or takes too much to be, is refused with 422.',
    scope: 'campaigns:read',
    query: previewQuery,
    response: { status: 200, schema: campaignPreviewView },
    problems: [409, 422],
  })
  preview(
    @InScope() scope: ProjectScope,
    @Param('campaignKey') campaignKey: string,
    @Query({ schema: previewQuery }) { email }: z.output<typeof previewQuery>,
  ) {
    return this.previews.render(scope, campaignKey, email ?? null);
  }
}

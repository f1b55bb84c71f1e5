import { Get, Param, Query } from '@nestjs/common';
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

@ApiController('campaigns/:campaignKey', { tag: 'Campaigns' })
export class CampaignChecksController {
  constructor(
    private readonly analyses: PreSendAnalysisService,
    private readonly previews: CampaignPreviewService,
  ) {}

  @Get('pre-send-analysis')
  @Operation({
    operationId: 'analyseCampaign',
    summary: 'Check a campaign before it is sent',
    description:
      'A failed CRITICAL check prevents schedule and send, whatever the score. `audience.matched` counts everybody who ' +
      'signed up for one of the topics and is the sum of the other numbers. A campaign that can still be changed keeps ' +
      'the score and status until its content or audience changes.',
    scope: 'campaigns:read',
    response: { status: 200, schema: preSendAnalysisView },
  })
  async analyse(@InScope() scope: ProjectScope, @Param('campaignKey') campaignKey: string) {
    return toAnalysisView(await this.analyses.of(scope, campaignKey));
  }

  @Get('preview')
  @Operation({
    operationId: 'previewCampaign',
    summary: 'Preview a campaign’s mail with its merge tags filled in',
    description:
      'Uses the data of the subscriber with this address (404 when there is none) and the translation for their language, or sample data. Personal links lead ' +
      'nowhere. 422 when the content cannot be rendered, or exceeds the limits of rendering.',
    scope: 'campaigns:read',
    query: previewQuery,
    response: { status: 200, schema: campaignPreviewView },
    problems: [409, 422],
  })
  preview(
    @InScope() scope: ProjectScope,
    @Param('campaignKey') campaignKey: string,
    @Query({ schema: previewQuery }) { email, locale }: z.output<typeof previewQuery>,
  ) {
    return this.previews.render(scope, campaignKey, { address: email ?? null, locale: locale ?? null });
  }
}

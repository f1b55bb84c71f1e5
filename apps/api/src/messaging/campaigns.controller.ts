import { Body, Delete, Get, Param, Patch, Post, Query } from '@nestjs/common';
import type { z } from 'zod';
import type { ProjectScope } from '#kernel';
import { CampaignsService } from '#messaging';
import { ApiController, InScope, Operation, toPage } from '#platform/http';
import {
  campaignListQuery,
  campaignPage,
  campaignView,
  createCampaignBody,
  duplicateCampaignBody,
  patchCampaignBody,
} from './campaign.dto.js';

@ApiController('campaigns', { tag: 'Campaigns' })
export class CampaignsController {
  constructor(private readonly campaigns: CampaignsService) {}

  @Get()
  @Operation({
    operationId: 'listCampaigns',
    sdk: 'campaigns.all',
    summary: 'List campaigns, newest first',
    scope: 'campaigns:read',
    query: campaignListQuery,
    response: { status: 200, schema: campaignPage },
  })
  async list(
    @InScope() scope: ProjectScope,
    @Query({ schema: campaignListQuery }) query: z.output<typeof campaignListQuery>,
  ) {
    return toPage(query, await this.campaigns.list(scope, query, query));
  }

  @Post()
  @Operation({
    operationId: 'createCampaign',
    sdk: 'campaigns.create',
    summary: 'Create a campaign',
    description:
      'A new campaign is a DRAFT. `sendStrategy` records what the author intends and never sends by itself.',
    scope: 'campaigns:write',
    body: createCampaignBody,
    response: {
      status: 201,
      schema: campaignView,
      location: ({ campaignKey }) => `campaigns/${campaignKey}`,
    },
  })
  async create(
    @InScope() scope: ProjectScope,
    @Body({ schema: createCampaignBody }) { strict, ...draft }: z.output<typeof createCampaignBody>,
  ) {
    if (strict === true) await this.campaigns.refuseLosses(scope, draft);
    return this.campaigns.create(scope, draft);
  }

  @Get(':campaignKey')
  @Operation({
    operationId: 'getCampaign',
    sdk: 'campaigns.get',
    summary: 'Get a campaign',
    scope: 'campaigns:read',
    response: { status: 200, schema: campaignView },
  })
  get(@InScope() scope: ProjectScope, @Param('campaignKey') campaignKey: string) {
    return this.campaigns.get(scope, campaignKey);
  }

  @Patch(':campaignKey')
  @Operation({
    operationId: 'updateCampaign',
    sdk: 'campaigns.update',
    summary: 'Change a campaign',
    description:
      'For a DRAFT, SCHEDULED or FAILED campaign. JSON merge-patch: absent fields stay, null clears a field. A ' +
      'SCHEDULED campaign stays scheduled and is checked again at its time; clearing `scheduledAt` makes it a DRAFT. `scheduledAt` and ' +
      '`scheduledAtLocal` replace each other, and so do content and `templateKey`, which takes the version in use anew. ' +
      'A change of content or audience clears `preSendScore` and `preSendStatus`.',
    scope: 'campaigns:write',
    body: patchCampaignBody,
    response: { status: 200, schema: campaignView },
    problems: [409],
  })
  async update(
    @InScope() scope: ProjectScope,
    @Param('campaignKey') campaignKey: string,
    @Body({ schema: patchCampaignBody }) { strict, ...changes }: z.output<typeof patchCampaignBody>,
  ) {
    if (strict === true) await this.campaigns.refuseLosses(scope, changes);
    return this.campaigns.revise(scope, campaignKey, changes);
  }

  @Post(':campaignKey/duplicate')
  @Operation({
    operationId: 'duplicateCampaign',
    sdk: 'campaigns.duplicate',
    summary: 'Duplicate a campaign',
    description:
      'A DRAFT with the same content, translations, sender, audience and metadata; times and `sendStrategy` are not copied; of a template it has the same version. With ' +
      '`resendTo` its audience is those who got the original and did not open it, as far as they still want it: counted anew ' +
      'by `send`, and an open before a mail leaves excludes its reader. Opens are those of people, not of proxies or scanners. ' +
      '409 then unless the original is SENT, its opens were recorded and its deliveries are still kept.',
    scope: 'campaigns:write',
    body: duplicateCampaignBody,
    response: {
      status: 201,
      schema: campaignView,
      location: ({ campaignKey }) => `campaigns/${campaignKey}`,
    },
    problems: [409],
  })
  duplicate(
    @InScope() scope: ProjectScope,
    @Param('campaignKey') campaignKey: string,
    @Body({ schema: duplicateCampaignBody }) body: z.output<typeof duplicateCampaignBody>,
  ) {
    return this.campaigns.duplicate(scope, campaignKey, body);
  }

  @Delete(':campaignKey')
  @Operation({
    operationId: 'deleteCampaign',
    sdk: 'campaigns.delete',
    summary: 'Delete a campaign',
    description: 'For a DRAFT, SCHEDULED, FAILED or CANCELLED campaign. Links in sent mail keep working.',
    scope: 'campaigns:write',
    response: { status: 204 },
    problems: [409],
  })
  remove(@InScope() scope: ProjectScope, @Param('campaignKey') campaignKey: string) {
    return this.campaigns.remove(scope, campaignKey);
  }
}

import { Body, Get, Param, Post, Query } from '@nestjs/common';
import type { z } from 'zod';
import type { ProjectScope } from '#kernel';
import {
  CampaignLifecycleService,
  MailViewService,
  PreSendAnalysisService,
  TestMailsService,
  VariantTestsService,
} from '#messaging';
import { ApiController, InScope, Operation } from '#platform/http';
import {
  campaignPreviewView,
  campaignView,
  chooseVariantBody,
  preSendAnalysisView,
  previewCampaignBody,
  previewLinkView,
  previewQuery,
  testCampaignBody,
} from './campaign.dto.js';

const SCOPE = 'campaigns:write';
const CAMPAIGN = { status: 200, schema: campaignView } as const;

@ApiController('campaigns/:campaignKey', { tag: 'Campaigns' })
export class CampaignActionsController {
  constructor(
    private readonly analyses: PreSendAnalysisService,
    private readonly mails: MailViewService,
    private readonly testMails: TestMailsService,
    private readonly campaigns: CampaignLifecycleService,
    private readonly variants: VariantTestsService,
  ) {}

  @Get('pre-send-analysis')
  @Operation({
    operationId: 'analyseCampaign',
    sdk: 'campaigns.analyse',
    summary: 'Check a campaign before it is sent',
    description:
      'A failed CRITICAL check prevents schedule and send, whatever the score. `audience.matched` counts everybody who ' +
      'signed up for one of the topics and is the sum of the other numbers. A campaign that can still be changed keeps ' +
      'the score and status until its content or audience changes.',
    scope: 'campaigns:read',
    response: { status: 200, schema: preSendAnalysisView },
  })
  analyse(@InScope() scope: ProjectScope, @Param('campaignKey') campaignKey: string) {
    return this.analyses.of(scope, campaignKey);
  }

  @Get('preview')
  @Operation({
    operationId: 'previewCampaign',
    sdk: 'campaigns.preview',
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
    @Query({ schema: previewQuery }) { email, locale, variant }: z.output<typeof previewQuery>,
  ) {
    const reader = { address: email ?? null, locale: locale ?? null, variant: variant ?? null };
    return this.mails.preview(scope, campaignKey, reader);
  }

  @Post('preview')
  @Operation({
    operationId: 'previewCampaignChanges',
    sdk: 'campaigns.previewChanges',
    summary: 'Preview a campaign’s mail with changes that are not stored',
    description:
      'As the preview by GET, with the content of the body in place of the stored one: for an editor that shows what is written. ' +
      'Nothing is stored. 422 with the path where the content has faults.',
    mutates: false,
    scope: 'campaigns:read',
    body: previewCampaignBody,
    response: { status: 200, schema: campaignPreviewView },
    problems: [409, 422],
  })
  previewChanges(
    @InScope() scope: ProjectScope,
    @Param('campaignKey') campaignKey: string,
    @Body({ schema: previewCampaignBody }) body: z.output<typeof previewCampaignBody>,
  ) {
    const { email, locale, variant, ...changes } = body;
    const reader = { address: email ?? null, locale: locale ?? null, variant: variant ?? null };
    return this.mails.preview(scope, campaignKey, reader, changes);
  }

  @Post('preview-link')
  @Operation({
    operationId: 'linkCampaignPreview',
    sdk: 'campaigns.previewLink',
    summary: 'Make a link to a page that shows the campaign',
    description:
      'For seven days, everybody who has the link sees the campaign as it then is, with sample data, on a phone and a desk, light and ' +
      'dark, in each of its languages: to have it looked over before it is sent. It cannot be taken back.',
    scope: SCOPE,
    response: { status: 200, schema: previewLinkView },
  })
  previewLink(@InScope() scope: ProjectScope, @Param('campaignKey') campaignKey: string) {
    return this.mails.previewLink(scope, campaignKey);
  }

  @Post('test')
  @Operation({
    operationId: 'testCampaign',
    sdk: 'campaigns.test',
    summary: 'Send a copy with sample data to up to five addresses',
    description:
      'For campaigns in any state but ARCHIVED. Links in the copy lead nowhere, and it counts neither in statistics ' +
      'nor against the plan. 422 for a suppressed address. An environment can send at most 100 test mails an hour. ' +
      'In the test environment find it in the test inbox (kind TEST).',
    scope: SCOPE,
    body: testCampaignBody,
    response: { status: 202 },
    problems: [409],
  })
  test(
    @InScope() scope: ProjectScope,
    @Param('campaignKey') campaignKey: string,
    @Body({ schema: testCampaignBody }) { emails, locale, variant }: z.output<typeof testCampaignBody>,
  ) {
    return this.testMails.send(scope, campaignKey, emails, {
      locale: locale ?? null,
      variant: variant ?? null,
    });
  }

  @Post('schedule')
  @Operation({
    operationId: 'scheduleCampaign',
    sdk: 'campaigns.schedule',
    summary: 'Schedule a campaign',
    description:
      'Schedules a DRAFT that passes the checks and whose `scheduledAt` is in the future. At that time it is checked ' +
      'again: if a check fails, it is FAILED and not sent. If the service was down, it is sent up to 24 hours late. With ' +
      '`scheduledAtLocal` it begins, and its audience is frozen, when it is that time first, at UTC+14; it is SENDING for up ' +
      'to 26 hours. Who has passed that time by then gets it at once; it is refused when the time has passed everywhere.',
    scope: SCOPE,
    response: CAMPAIGN,
    problems: [409],
  })
  schedule(@InScope() scope: ProjectScope, @Param('campaignKey') campaignKey: string) {
    return this.campaigns.schedule(scope, campaignKey);
  }

  @Post('send')
  @Operation({
    operationId: 'sendCampaign',
    sdk: 'campaigns.send',
    summary: 'Send a campaign now',
    description:
      'Checks the campaign, freezes its audience and queues it for the worker. A failed check is answered with ' +
      '`checks`. A FAILED campaign is sent only to the recipients whom it did not reach before. What is sent before its ' +
      '`scheduledAtLocal` goes to everybody at once; its schedule is cleared.',
    scope: SCOPE,
    response: CAMPAIGN,
    problems: [409],
  })
  send(@InScope() scope: ProjectScope, @Param('campaignKey') campaignKey: string) {
    return this.campaigns.send(scope, campaignKey);
  }

  @Post('cancel')
  @Operation({
    operationId: 'cancelCampaign',
    sdk: 'campaigns.cancel',
    summary: 'Cancel a campaign',
    description:
      'Cancels a SCHEDULED, QUEUED_FOR_SENDING, SENDING or PAUSED campaign for good. Mails in transmission still go ' +
      'out; the worker sets waiting ones to CANCELLED.',
    scope: SCOPE,
    response: CAMPAIGN,
    problems: [409],
  })
  cancel(@InScope() scope: ProjectScope, @Param('campaignKey') campaignKey: string) {
    return this.campaigns.cancel(scope, campaignKey);
  }

  @Post('pause')
  @Operation({
    operationId: 'pauseCampaign',
    sdk: 'campaigns.pause',
    summary: 'Pause a campaign that is SENDING',
    description: 'Mails in transmission still go out.',
    scope: SCOPE,
    response: CAMPAIGN,
    problems: [409],
  })
  pause(@InScope() scope: ProjectScope, @Param('campaignKey') campaignKey: string) {
    return this.campaigns.pause(scope, campaignKey);
  }

  @Post('resume')
  @Operation({
    operationId: 'resumeCampaign',
    sdk: 'campaigns.resume',
    summary: 'Resume a campaign that is PAUSED',
    scope: SCOPE,
    response: CAMPAIGN,
    problems: [409],
  })
  resume(@InScope() scope: ProjectScope, @Param('campaignKey') campaignKey: string) {
    return this.campaigns.resume(scope, campaignKey);
  }

  @Post('choose-variant')
  @Operation({
    operationId: 'chooseVariant',
    sdk: 'campaigns.chooseVariant',
    summary: 'End a campaign’s test and send the rest of the audience this variant',
    description:
      'While `testPhase` is TESTING, also before its `decideAfter`: for `by: MANUAL`, an undecided test that asks, or whoever ' +
      'knows already. The counts of that moment are kept with the decision. 409 when it was decided before.',
    scope: SCOPE,
    body: chooseVariantBody,
    response: CAMPAIGN,
    problems: [409],
  })
  chooseVariant(
    @InScope() scope: ProjectScope,
    @Param('campaignKey') campaignKey: string,
    @Body({ schema: chooseVariantBody }) { variant }: z.output<typeof chooseVariantBody>,
  ) {
    return this.variants.choose(scope, campaignKey, variant);
  }

  @Post('retry-failed')
  @Operation({
    operationId: 'retryFailedDeliveries',
    sdk: 'campaigns.retryFailed',
    summary: 'Retry the deliveries of a campaign that failed temporarily',
    description:
      'For a campaign that is SENT: restarts deliveries that FAILED for the reason `network`, `mailbox`, `policy` or ' +
      '`unknown`; the campaign is SENDING until they end. Without such deliveries nothing changes.',
    scope: SCOPE,
    response: CAMPAIGN,
    problems: [409],
  })
  retryFailed(@InScope() scope: ProjectScope, @Param('campaignKey') campaignKey: string) {
    return this.campaigns.retryFailed(scope, campaignKey);
  }
}

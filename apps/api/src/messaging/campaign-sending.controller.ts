import { Body, Inject, Param, Post } from '@nestjs/common';
import type { z } from 'zod';
import type { ProjectScope } from '#kernel';
import {
  CampaignControlService,
  CampaignRetryService,
  CampaignSendingService,
  TestMailsService,
} from '#messaging';
import { ApiController, InScope, Operation } from '#platform/http';
import { campaignView, testCampaignBody, toCampaignView } from './campaign.dto.js';

const SCOPE = 'campaigns:write';
const CAMPAIGN = { status: 200, schema: campaignView } as const;

/** A campaign's way from DRAFT to SENT, and off it. */
@ApiController('campaigns/:campaignKey', { tag: 'Campaigns' })
export class CampaignSendingController {
  constructor(
    @Inject(CampaignSendingService) private readonly sending: CampaignSendingService,
    @Inject(CampaignControlService) private readonly control: CampaignControlService,
    @Inject(CampaignRetryService) private readonly retries: CampaignRetryService,
    @Inject(TestMailsService) private readonly testMails: TestMailsService,
  ) {}

  @Post('schedule')
  @Operation({
    operationId: 'scheduleCampaign',
    summary: 'Schedule a campaign for its `scheduledAt`',
    description:
      'A DRAFT with a time to come that passes the checks is SCHEDULED. It is checked once more at its time: if it ' +
      'fails then it is FAILED and not sent. If the service was down at that time it is sent up to 24 hours late.',
    scope: SCOPE,
    response: CAMPAIGN,
    problems: [409],
  })
  async schedule(@InScope() scope: ProjectScope, @Param('campaignKey') campaignKey: string) {
    return toCampaignView(await this.sending.schedule(scope, campaignKey));
  }

  @Post('send')
  @Operation({
    operationId: 'sendCampaign',
    summary: 'Send a campaign now',
    description:
      'Checks it, freezes its audience and hands it to the worker. A failed check refuses with `checks`. A FAILED ' +
      'campaign goes only to those whom it did not reach before.',
    scope: SCOPE,
    response: CAMPAIGN,
    problems: [409],
  })
  async send(@InScope() scope: ProjectScope, @Param('campaignKey') campaignKey: string) {
    return toCampaignView(await this.sending.send(scope, campaignKey));
  }

  @Post('cancel')
  @Operation({
    operationId: 'cancelCampaign',
    summary: 'Cancel a campaign',
    description:
      'For good, while it is SCHEDULED, QUEUED_FOR_SENDING, SENDING or PAUSED. Mails that are being handed over at ' +
      'that moment still go out; those that wait are CANCELLED by the worker.',
    scope: SCOPE,
    response: CAMPAIGN,
    problems: [409],
  })
  async cancel(@InScope() scope: ProjectScope, @Param('campaignKey') campaignKey: string) {
    return toCampaignView(await this.control.cancel(scope, campaignKey));
  }

  @Post('pause')
  @Operation({
    operationId: 'pauseCampaign',
    summary: 'Pause a campaign that is SENDING',
    description: 'Only mails that are being handed over at that moment still go out.',
    scope: SCOPE,
    response: CAMPAIGN,
    problems: [409],
  })
  async pause(@InScope() scope: ProjectScope, @Param('campaignKey') campaignKey: string) {
    return toCampaignView(await this.control.pause(scope, campaignKey));
  }

  @Post('resume')
  @Operation({
    operationId: 'resumeCampaign',
    summary: 'Go on with a campaign that is PAUSED',
    scope: SCOPE,
    response: CAMPAIGN,
    problems: [409],
  })
  async resume(@InScope() scope: ProjectScope, @Param('campaignKey') campaignKey: string) {
    return toCampaignView(await this.control.resume(scope, campaignKey));
  }

  @Post('retry-failed')
  @Operation({
    operationId: 'retryFailedDeliveries',
    summary: 'Send a campaign again to those whom a temporary failure kept from it',
    description:
      'For a campaign that is SENT: deliveries that FAILED for the reason `network`, `mailbox`, `policy` or `unknown` ' +
      'begin anew, and it is SENDING until they have ended. Without any, nothing changes.',
    scope: SCOPE,
    response: CAMPAIGN,
    problems: [409],
  })
  async retryFailed(@InScope() scope: ProjectScope, @Param('campaignKey') campaignKey: string) {
    return toCampaignView(await this.retries.retryFailed(scope, campaignKey));
  }

  @Post('test')
  @Operation({
    operationId: 'testCampaign',
    summary: 'Send a copy with sample data to up to five addresses',
    description:
      'In any state but ARCHIVED. The copy is the mail as it stands, its links lead nowhere, and it counts neither in ' +
      'statistics nor against the plan’s e-mails. A suppressed address is refused with 422. At most 100 test mails ' +
      'an hour in a project environment. Follow it in the test inbox (kind TEST) in the test environment.',
    scope: SCOPE,
    body: testCampaignBody,
    response: { status: 202 },
    problems: [409],
  })
  async test(
    @InScope() scope: ProjectScope,
    @Param('campaignKey') campaignKey: string,
    @Body({ schema: testCampaignBody }) { emails }: z.output<typeof testCampaignBody>,
  ): Promise<void> {
    await this.testMails.send(scope, campaignKey, emails);
  }
}

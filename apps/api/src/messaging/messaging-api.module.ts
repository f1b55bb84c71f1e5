import { Module } from '@nestjs/common';
import { AutomationsModule, MessagingModule } from '#messaging';
import { AutomationsController } from './automations.controller.js';
import { CampaignChecksController } from './campaign-checks.controller.js';
import { CampaignSendingController } from './campaign-sending.controller.js';
import { CampaignsController } from './campaigns.controller.js';
import { DeliveriesController } from './deliveries.controller.js';
import { ExecutionsController } from './executions.controller.js';
import { ReportsController } from './reports.controller.js';
import { TestInboxController } from './test-inbox.controller.js';

@Module({
  imports: [AutomationsModule, MessagingModule],
  controllers: [
    AutomationsController,
    CampaignsController,
    CampaignChecksController,
    CampaignSendingController,
    DeliveriesController,
    ExecutionsController,
    ReportsController,
    TestInboxController,
  ],
})
export class MessagingApiModule {}

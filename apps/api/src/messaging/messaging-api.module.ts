import { Module } from '@nestjs/common';
import { AutomationsModule, MessagingModule } from '#messaging';
import { AutomationsController } from './automations.controller.js';
import { CampaignActionsController } from './campaign-actions.controller.js';
import { CampaignReportsController } from './campaign-reports.controller.js';
import { CampaignsController } from './campaigns.controller.js';
import { TestInboxController } from './test-inbox.controller.js';

@Module({
  imports: [AutomationsModule, MessagingModule],
  controllers: [
    AutomationsController,
    CampaignsController,
    CampaignActionsController,
    CampaignReportsController,
    TestInboxController,
  ],
})
export class MessagingApiModule {}

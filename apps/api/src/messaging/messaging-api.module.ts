import { Module } from '@nestjs/common';
import { AutomationsModule, MessagingModule, PersonalDataModule } from '#messaging';
import { AutomationsController } from './automations.controller.js';
import { CampaignActionsController } from './campaign-actions.controller.js';
import { CampaignReportsController, ReportLinksController } from './campaign-reports.controller.js';
import { CampaignsController } from './campaigns.controller.js';
import { ExportsController } from './exports.controller.js';
import { MediaController } from './media.controller.js';
import { MessagesController } from './messages.controller.js';
import { PersonController } from './person.controller.js';
import { StatisticsController } from './statistics.controller.js';
import { TemplatesController } from './templates.controller.js';
import { TestInboxController } from './test-inbox.controller.js';

@Module({
  imports: [AutomationsModule, MessagingModule, PersonalDataModule],
  controllers: [
    AutomationsController,
    CampaignsController,
    CampaignActionsController,
    CampaignReportsController,
    ReportLinksController,
    ExportsController,
    MediaController,
    MessagesController,
    PersonController,
    StatisticsController,
    TemplatesController,
    TestInboxController,
  ],
})
export class MessagingApiModule {}

import { Module } from '@nestjs/common';
import { MessagingModule } from '#messaging';
import { CampaignsController } from './campaigns.controller.js';
import { ReportsController } from './reports.controller.js';
import { TestInboxController } from './test-inbox.controller.js';

@Module({
  imports: [MessagingModule],
  controllers: [CampaignsController, ReportsController, TestInboxController],
})
export class MessagingApiModule {}

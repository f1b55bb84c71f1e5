import { Module } from '@nestjs/common';
import { AccessModule } from '#access';
import { RemoveOldReports } from './remove-old-reports.task.js';
import { ReportsService } from './reports.service.js';
import { ReturnedMail } from './returned-mail.service.js';
import { ReturnPathsModule } from './return-paths.module.js';

/** What comes back of mail that was accepted. */
@Module({
  imports: [AccessModule, ReturnPathsModule],
  providers: [RemoveOldReports, ReportsService, ReturnedMail],
  exports: [RemoveOldReports, ReportsService, ReturnedMail, ReturnPathsModule],
})
export class BouncesModule {}

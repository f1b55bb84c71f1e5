import { Module } from '@nestjs/common';
import { AccessModule } from '#access';
import { RemoveOldReports } from './remove-old-reports.task.js';
import { ReportsService } from './reports.service.js';
import { ReturnPathsModule } from './return-paths.module.js';

/** What comes back of mail that was accepted. */
@Module({
  imports: [AccessModule, ReturnPathsModule],
  providers: [RemoveOldReports, ReportsService],
  exports: [RemoveOldReports, ReportsService, ReturnPathsModule],
})
export class BouncesModule {}

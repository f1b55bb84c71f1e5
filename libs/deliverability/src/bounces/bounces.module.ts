import { Module } from '@nestjs/common';
import { AccessModule } from '#access';
import { ReportsService } from './reports.service.js';
import { ReturnPathsModule } from './return-paths.module.js';

/** What comes back of mail that was accepted. */
@Module({
  imports: [AccessModule, ReturnPathsModule],
  providers: [ReportsService],
  exports: [ReportsService, ReturnPathsModule],
})
export class BouncesModule {}

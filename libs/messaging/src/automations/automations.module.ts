import { Module } from '@nestjs/common';
import { AccessModule } from '#access';
import { AudienceModule } from '#audience';
import { AutomationChecks } from './automation-checks.service.js';
import { AutomationLifecycle } from './automation-lifecycle.service.js';
import { AutomationRepository } from './automation.repository.js';
import { AutomationsQuery } from './automations.query.js';
import { AutomationsService } from './automations.service.js';
import { AutomationUsageQuery } from './automation-usage.query.js';
import { AutomationVersions } from './automation-versions.query.js';
import { MailChecks } from './mail-checks.service.js';

/** What both edges use: writing automations and letting people in. */
@Module({
  imports: [AccessModule, AudienceModule],
  providers: [
    AutomationChecks,
    AutomationLifecycle,
    AutomationRepository,
    AutomationsQuery,
    AutomationsService,
    AutomationUsageQuery,
    AutomationVersions,
    MailChecks,
  ],
  exports: [AutomationsQuery, AutomationsService, AutomationVersions],
})
export class AutomationsModule {}

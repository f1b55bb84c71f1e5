import { Module } from '@nestjs/common';
import { AudienceModule } from '#audience';
import { DeliverabilityModule } from '#deliverability';
import { MessagingModule, OverviewQuery, ProjectRetentionRepository } from '#messaging';
import { AccountsModule } from '#operator';
import { AuditLogService } from '#platform';
import {
  OperatorAuditController,
  ProjectKeysController,
  ProjectsController,
  TenantsController,
} from './accounts.controller.js';
import { InvoicesController, PlansController, TenantBillingController } from './billing.controller.js';
import {
  ChecksController,
  OperatedDomainsController,
  OperatorPageController,
  OverviewController,
} from './system.controller.js';

/** The operator's API below /operator/v1, and the page. */
@Module({
  imports: [AccountsModule, AudienceModule, DeliverabilityModule, MessagingModule],
  controllers: [
    TenantsController,
    ProjectsController,
    ProjectKeysController,
    OperatorAuditController,
    PlansController,
    TenantBillingController,
    InvoicesController,
    OperatedDomainsController,
    OverviewController,
    ChecksController,
    OperatorPageController,
  ],
  providers: [AuditLogService, OverviewQuery, ProjectRetentionRepository],
})
export class OperatorApiModule {}

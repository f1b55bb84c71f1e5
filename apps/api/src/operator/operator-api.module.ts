import { Module } from '@nestjs/common';
import { DeliverabilityModule } from '#deliverability';
import { OverviewQuery } from '#messaging';
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
  OperatedDomainsController,
  OperatorPageController,
  OverviewController,
} from './system.controller.js';

/** The operator's API below /operator/v1, and the page. */
@Module({
  imports: [AccountsModule, DeliverabilityModule],
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
    OperatorPageController,
  ],
  providers: [AuditLogService, OverviewQuery],
})
export class OperatorApiModule {}

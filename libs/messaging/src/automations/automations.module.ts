import { Module } from '@nestjs/common';
import { AccessModule } from '#access';
import { AudienceModule } from '#audience';
import { BillingModule } from '#billing';
import { CampaignContentsQuery } from '../campaigns/campaign-contents.query.js';
import { FromAddressesModule } from '../campaigns/from-addresses.service.js';
import { ContentModule } from '../content/content.module.js';
import { TemplatesModule } from '../templates/templates.module.js';
import { AutomationSecretsService } from './automation-secrets.service.js';
import { AutomationRepository } from './automation.repository.js';
import { AutomationsQuery } from './automations.query.js';
import { AutomationChecksService } from './editing/automation-checks.service.js';
import { AutomationTemplatesService } from './editing/automation-templates.service.js';
import { AutomationUsageQuery } from './editing/automation-usage.query.js';
import { AutomationsService } from './editing/automations.service.js';
import { AutomationEntriesService } from './runs/automation-entries.service.js';
import { AutomationRunner } from './runs/automation-runner.job.js';
import { AutomationStepsService } from './runs/automation-steps.service.js';
import { StepExecutorService } from './runs/step-executor.service.js';
import { DueWorkQuery } from './runs/due-work.query.js';
import { ExecutionsQuery } from './runs/executions.query.js';
import { RunRepository } from './runs/run.repository.js';
import { VersionPlansQuery } from './runs/version-plans.query.js';
import { WebhookCaller } from './runs/webhook-caller.job.js';
import { WebhookClientService } from './runs/webhook-client.service.js';

const imports = [
  AccessModule,
  AudienceModule,
  BillingModule,
  ContentModule,
  FromAddressesModule,
  TemplatesModule,
];
const SERVICES = [
  AutomationEntriesService,
  AutomationsQuery,
  AutomationsService,
  AutomationTemplatesService,
  ExecutionsQuery,
  VersionPlansQuery,
];
const WORK = [AutomationRunner, WebhookCaller];

/** For API and worker: editing automations, letting subscribers in, reading their runs. */
@Module({
  imports,
  providers: [
    AutomationChecksService,
    AutomationRepository,
    AutomationUsageQuery,
    CampaignContentsQuery,
    ...SERVICES,
  ],
  exports: SERVICES,
})
export class AutomationsModule {}

/** The secrets that sign the webhooks of automations: for the worker, and for the operator. */
@Module({ providers: [AutomationSecretsService], exports: [AutomationSecretsService] })
export class AutomationSecretsModule {}

/** For the worker only: running automations. */
@Module({
  imports: [...imports, AutomationsModule, AutomationSecretsModule],
  providers: [
    AutomationStepsService,
    DueWorkQuery,
    RunRepository,
    StepExecutorService,
    WebhookClientService,
    ...WORK,
  ],
  exports: WORK,
})
export class AutomationsWorkerModule {}

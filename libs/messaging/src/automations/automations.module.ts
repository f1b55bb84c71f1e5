import { Module } from '@nestjs/common';
import { AccessModule } from '#access';
import { AudienceModule } from '#audience';
import { BillingModule } from '#billing';
import { SendersModule } from '../campaigns/senders/senders.module.js';
import { ContentModule } from '../content/content.module.js';
import { AutomationChecks } from './editing/automation-checks.service.js';
import { AutomationLifecycle } from './editing/automation-lifecycle.service.js';
import { AutomationPlan } from './editing/automation-plan.service.js';
import { AutomationRepository } from './automation.repository.js';
import { AutomationsQuery } from './automations.query.js';
import { AutomationsService } from './editing/automations.service.js';
import { AutomationUsageQuery } from './editing/automation-usage.query.js';
import { AutomationEditor } from './editing/automation-editor.service.js';
import { AutomationPreparation } from './editing/automation-preparation.service.js';
import { ExecutionsQuery } from './runs/executions.query.js';
import { MailChecks } from './editing/mail-checks.service.js';
import { EmailStep } from './nodes/email-step.service.js';
import { RuleSteps } from './nodes/rule-steps.service.js';
import { SegmentStep } from './nodes/segment-step.service.js';
import { StepTakers } from './nodes/step-takers.service.js';
import { TopicStep } from './nodes/topic-step.service.js';
import { AutomationInstaller } from './templates/automation-installer.service.js';
import { AutomationEntries } from './runs/automation-entries.service.js';
import { AutomationsCheckQuery } from './runs/automations-check.query.js';
import { AutomationRunner } from './runs/automation-runner.service.js';
import { AutomationSteps } from './runs/automation-steps.service.js';
import { AutomationWork } from './runs/automation-work.service.js';
import { ClosedAutomations } from './runs/closed-automations.service.js';
import { PacedSteps } from './runs/paced-steps.service.js';
import { PoisonedRuns } from './runs/poisoned-runs.service.js';
import { RunRepository } from './runs/run.repository.js';
import { StepBatches } from './runs/step-batches.service.js';
import { TemplateNeeds } from './templates/template-needs.service.js';
import { VersionPlans } from './runs/version-plans.service.js';
import { WaitingWork } from './runs/waiting-work.query.js';
import { AutomationSecretsModule } from './webhooks/automation-secrets.module.js';
import { WebhookCaller } from './webhooks/webhook-caller.service.js';
import { WebhookCalls } from './webhooks/webhook-calls.service.js';
import { WebhookClient } from './webhooks/webhook-client.service.js';
import { WebhookMessages } from './webhooks/webhook-messages.service.js';
import { WebhookHosts } from './editing/webhook-hosts.service.js';

/** For API and worker: editing automations, letting subscribers in, reading their runs. */
@Module({
  imports: [AccessModule, AudienceModule, BillingModule, ContentModule, SendersModule],
  providers: [
    AutomationChecks,
    AutomationEditor,
    AutomationEntries,
    AutomationInstaller,
    AutomationLifecycle,
    AutomationPlan,
    AutomationPreparation,
    AutomationRepository,
    AutomationsCheckQuery,
    AutomationsQuery,
    AutomationsService,
    AutomationUsageQuery,
    ExecutionsQuery,
    MailChecks,
    TemplateNeeds,
    VersionPlans,
    WebhookHosts,
  ],
  exports: [
    AutomationEditor,
    AutomationEntries,
    AutomationInstaller,
    AutomationsCheckQuery,
    AutomationsQuery,
    AutomationsService,
    ExecutionsQuery,
    VersionPlans,
  ],
})
export class AutomationsModule {}

/** For the worker only: running automations. */
@Module({
  imports: [
    AccessModule,
    AutomationsModule,
    AutomationSecretsModule,
    AudienceModule,
    BillingModule,
    ContentModule,
    SendersModule,
  ],
  providers: [
    AutomationRunner,
    AutomationSteps,
    AutomationWork,
    ClosedAutomations,
    EmailStep,
    PacedSteps,
    PoisonedRuns,
    RuleSteps,
    RunRepository,
    SegmentStep,
    StepTakers,
    TopicStep,
    WaitingWork,
    StepBatches,
    WebhookCaller,
    WebhookCalls,
    WebhookClient,
    WebhookMessages,
  ],
  exports: [AutomationRunner, AutomationSteps, WebhookCaller],
})
export class AutomationsWorkerModule {}

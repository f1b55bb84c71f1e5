import { Module } from '@nestjs/common';
import { AutomationSecrets } from './automation-secrets.service.js';
import { SealedAutomationSecrets } from './sealed-automation-secrets.query.js';

/** The secrets that sign the webhooks of automations: for the worker, and for the operator. */
@Module({
  providers: [AutomationSecrets, SealedAutomationSecrets],
  exports: [AutomationSecrets, SealedAutomationSecrets],
})
export class AutomationSecretsModule {}

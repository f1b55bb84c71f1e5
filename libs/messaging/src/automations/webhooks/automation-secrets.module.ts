import { Module } from '@nestjs/common';
import { AutomationSecrets } from './automation-secrets.service.js';
import { SealedAutomationSecrets } from './sealed-automation-secrets.query.js';

/** What the webhooks of automations are signed with: for the worker, and for the operator. */
@Module({
  providers: [AutomationSecrets, SealedAutomationSecrets],
  exports: [AutomationSecrets, SealedAutomationSecrets],
})
export class AutomationSecretsModule {}

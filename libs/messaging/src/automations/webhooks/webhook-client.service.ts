import { Injectable } from '@nestjs/common';
import { Clock } from '#kernel';
import { OutgoingHttp, postOutcome, webhookHeaders } from '#platform';
import { AutomationSecrets } from './automation-secrets.service.js';
import type { WebhookCall } from './webhook-calls.service.js';
import { WebhookMessages } from './webhook-messages.service.js';
import { webhookOutcome, type WebhookOutcome } from './webhook-outcome.js';

/** Calls webhooks: signed (Standard Webhooks 1.0), and at public addresses only. */
@Injectable()
export class WebhookClient {
  constructor(
    private readonly http: OutgoingHttp,
    private readonly messages: WebhookMessages,
    private readonly secrets: AutomationSecrets,
    private readonly clock: Clock,
  ) {}

  async call(call: WebhookCall): Promise<WebhookOutcome> {
    const { id: executionId, position, plan } = call;
    const step = plan.steps[position];
    if (step?.type !== 'webhook') throw new Error('The step is not a webhook.');
    const at = this.clock.now();
    const message = await this.messages.of(call, step, at);
    if (message === null) return { kind: 'refused', detail: 'erased', isFinal: true };
    const { body, contentType } = message;
    const secret = await this.secrets.of(plan.scope);
    const signed = webhookHeaders([secret], { id: stepId(executionId, position), at, body });
    const headers = { ...step.config.headers, 'content-type': contentType, ...signed };
    const request = { method: 'POST', url: step.config.url, headers, body } as const;
    return webhookOutcome(await postOutcome(this.http.request(request)));
  }
}

/** The same as messaging.step_id: the run's id with the place of the node. */
function stepId(runId: string, place: number): string {
  return runId.slice(0, -2) + (place + 1).toString(16).padStart(2, '0');
}

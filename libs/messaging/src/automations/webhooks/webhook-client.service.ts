import { Inject, Injectable } from '@nestjs/common';
import { ProjectsQuery } from '#access';
import { RecipientsQuery } from '#audience';
import { Clock } from '#kernel';
import { OutgoingHttp, postOutcome, webhookHeaders } from '#platform';
import { ContentProcesses } from '../../content/processes/content-processes.service.js';
import { AutomationSecrets } from './automation-secrets.service.js';
import type { WebhookCall } from './webhook-calls.service.js';
import { webhookMessage } from './webhook-message.js';
import { webhookOutcome, type WebhookOutcome } from './webhook-outcome.js';

/** Calls webhooks: signed (Standard Webhooks 1.0), and at public addresses only. */
@Injectable()
export class WebhookClient {
  constructor(
    @Inject(OutgoingHttp) private readonly http: OutgoingHttp,
    @Inject(RecipientsQuery) private readonly recipients: RecipientsQuery,
    @Inject(ProjectsQuery) private readonly projects: ProjectsQuery,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(AutomationSecrets) private readonly secrets: AutomationSecrets,
    @Inject(ContentProcesses) private readonly processes: ContentProcesses,
  ) {}

  async call({ id: executionId, subscriberId, position, plan, data }: WebhookCall): Promise<WebhookOutcome> {
    const { scope } = plan;
    const step = plan.steps[position];
    if (step?.type !== 'webhook') throw new Error('The step is not a webhook.');
    const at = this.clock.now();
    const person = (await this.recipients.lookUp(scope, [], [subscriberId], at)).get(subscriberId);
    if (person === undefined) return { kind: 'refused', detail: 'erased', isFinal: true };
    const project = (await this.projects.ofScope(scope)) ?? { name: '', postalAddress: '' };
    const automation = { id: plan.automationId, key: plan.automationKey };
    const subject = { automation, executionId, nodeId: step.id, person, project, data, at };
    const { body, contentType } = await webhookMessage(step.config, subject, (texts, values) =>
      this.processes.filled(scope, texts, values),
    );
    const secret = await this.secrets.of(scope);
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

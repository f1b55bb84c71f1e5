import { Injectable } from '@nestjs/common';
import { type Project, ProjectsQuery } from '#access';
import { CustomFieldsQuery, type Recipient, RecipientsQuery } from '#audience';
import type { ProjectScope } from '#kernel';
import { MergeTemplateError } from '../../content/content.errors.js';
import { type MergeValues, projectValues, subscriberValues } from '../../content/merge/merge-values.js';
import { ContentProcesses } from '../../content/processes/content-processes.service.js';
import type { PlannedStep } from '../nodes/version-plan.js';
import type { WebhookCall } from './webhook-calls.service.js';

/** What a webhook reports. */
interface WebhookSubject {
  readonly automation: { readonly id: string; readonly key: string };
  readonly executionId: string;
  readonly nodeId: string;
  readonly person: Recipient;
  readonly project: Pick<Project, 'name' | 'postalAddress'>;
  /** What the client gave when it let the subscriber in; null for nothing. */
  readonly data: unknown;
  readonly at: Date;
}

interface WebhookMessage {
  readonly contentType: string;
  readonly body: string;
}

/** Writes what webhooks report. */
@Injectable()
export class WebhookMessages {
  constructor(
    private readonly recipients: RecipientsQuery,
    private readonly fields: CustomFieldsQuery,
    private readonly projects: ProjectsQuery,
    private readonly processes: ContentProcesses,
  ) {}

  /**
   * The author's own body with its merge tags filled in, or else the default, in the form of Standard Webhooks. Null when
   * the subscriber was erased. Throws `MergeTemplateError`, also for a merge tag whose field is archived.
   */
  async of(
    { id: executionId, subscriberId, plan, data }: WebhookCall,
    { id: nodeId, config: { body } }: PlannedStep<'webhook'>,
    at: Date,
  ): Promise<WebhookMessage | null> {
    const { scope, automationId: id, automationKey: key } = plan;
    const person = (await this.recipients.lookUp(scope, [], [subscriberId], at)).get(subscriberId);
    if (person === undefined) return null;
    const project = (await this.projects.ofScope(scope)) ?? { name: '', postalAddress: '' };
    const subject = { automation: { id, key }, executionId, nodeId, person, project, data, at };
    if (body === null) return { contentType: 'application/json', body: JSON.stringify(described(subject)) };
    await this.#refuseMissingFields(scope, body);
    const filled = await this.processes.filled(scope, body, valuesOf(subject));
    if (typeof filled === 'string') return { contentType: 'text/plain; charset=utf-8', body: filled };
    return { contentType: 'application/json', body: JSON.stringify(filled) };
  }

  async #refuseMissingFields(scope: ProjectScope, body: unknown): Promise<void> {
    if (!JSON.stringify(body).includes('custom')) return;
    const keys = await this.processes.customKeys(scope, { texts: body, documents: [] });
    const [missing] = await this.fields.missingAmong(scope, keys);
    if (missing !== undefined)
      throw new MergeTemplateError(`{{ custom.${missing} }} names a custom field that is archived`);
  }
}

function described({ automation, executionId, nodeId, person, data, at }: WebhookSubject): object {
  const { subscriberId: id, email, firstName, lastName, phone, locale, timeZone, customFields } = person;
  return {
    type: 'automation.webhook',
    timestamp: at.toISOString(),
    data: {
      automationId: automation.id,
      automationKey: automation.key,
      executionId,
      nodeId,
      subscriber: { id, email, firstName, lastName, phone, locale, timeZone, customFields },
      data,
    },
  };
}

function valuesOf({ automation, person, project }: WebhookSubject): MergeValues {
  return {
    subscriber: subscriberValues(person),
    custom: person.customFields,
    topic: { name: '', key: '' },
    campaign: { name: '', key: automation.key },
    project: projectValues(project),
    links: { unsubscribe: '', preferences: '', view: '' },
  };
}

import { Injectable } from '@nestjs/common';
import { type Project, ProjectsQuery } from '#access';
import { CustomFieldsQuery, type Recipient, RecipientsQuery } from '#audience';
import { Clock, type ProjectScope } from '#kernel';
import { OutgoingHttp, postOutcome, traced, webhookHeaders } from '#platform';
import { MergeTemplateError } from '../../content/content.errors.js';
import { type MergeValues, projectValues, subscriberValues } from '../../content/merge/merge-values.js';
import { ContentProcessesService } from '../../content/processes/content-processes.service.js';
import { AutomationSecretsService } from '../automation-secrets.service.js';
import type { ClaimedRun } from './step-batch.js';
import type { PlannedStep, VersionPlan } from './version-plans.query.js';

/** A call to make: this worker has leased the run until `leasedUntil`. */
export interface WebhookCall extends ClaimedRun {
  readonly plan: VersionPlan;
  /** This one included. */
  readonly attempts: number;
  readonly leasedUntil: Date;
  /** Properties of the event with which the run began, or the client's data; null for none. */
  readonly data: Readonly<Record<string, unknown>> | null;
}

/** Outcome of a call; `detail` is shown by executions. A final refusal is not tried again. */
export type WebhookOutcome =
  | { readonly kind: 'accepted'; readonly detail: string }
  | { readonly kind: 'refused'; readonly detail: string; readonly isFinal: boolean };

/** The facts that a webhook reports. */
interface WebhookSubject {
  readonly call: WebhookCall;
  readonly nodeId: string;
  readonly person: Recipient;
  readonly project: Pick<Project, 'name' | 'postalAddress'>;
  readonly at: Date;
}

/** Calls webhooks: signed (Standard Webhooks 1.0), and at public addresses only. */
@Injectable()
export class WebhookClientService {
  constructor(
    private readonly http: OutgoingHttp,
    private readonly secrets: AutomationSecretsService,
    private readonly recipients: RecipientsQuery,
    private readonly fields: CustomFieldsQuery,
    private readonly projects: ProjectsQuery,
    private readonly processes: ContentProcessesService,
    private readonly clock: Clock,
  ) {}

  /** Throws `MergeTemplateError`, also for a merge tag whose field is archived. */
  call(call: WebhookCall): Promise<WebhookOutcome> {
    const { id, position, plan } = call;
    const attributes = {
      'mailwright.source_id': stepId(id, position),
      'mailwright.environment_id': plan.scope.environmentId,
    };
    return traced({ name: 'webhook', kind: 'client', parent: null, attributes }, async (span) => {
      const outcome = await this.#call(call, span?.traceparent);
      if (outcome.kind !== 'accepted') span?.fail(outcome.kind);
      return outcome;
    });
  }

  async #call(call: WebhookCall, traceparent: string | undefined): Promise<WebhookOutcome> {
    const { id, position, plan } = call;
    const step = plan.steps[position];
    if (step?.type !== 'webhook') throw new Error('The step is not a webhook.');
    const at = this.clock.now();
    const message = await this.#message(call, step, at);
    if (message === null) return { kind: 'refused', detail: 'erased', isFinal: true };
    const { body, contentType } = message;
    const secret = await this.secrets.of(plan.scope);
    const signed = webhookHeaders([secret], { id: stepId(id, position), at, body });
    const headers = {
      ...step.config.headers,
      'content-type': contentType,
      ...signed,
      ...(traceparent && { traceparent }),
    };
    const request = { method: 'POST', url: step.config.url, headers, body } as const;
    const { verdict, answer, fault } = await postOutcome(this.http.request(request));
    const detail = answer === null ? `${fault?.kind}: ${fault?.message}` : `answered ${answer.status}`;
    return verdict === 'taken'
      ? { kind: 'accepted', detail }
      : { kind: 'refused', detail, isFinal: verdict === 'final' };
  }

  /** The author's body with its merge tags filled in, or the default one. Null when the subscriber was erased. */
  async #message(
    call: WebhookCall,
    { id: nodeId, config: { body } }: PlannedStep<'webhook'>,
    at: Date,
  ): Promise<{ readonly contentType: string; readonly body: string } | null> {
    const { subscriberId, plan } = call;
    const { scope } = plan;
    const person = (await this.recipients.lookUp(scope, [], [subscriberId], at)).get(subscriberId);
    if (person === undefined) return null;
    const project = (await this.projects.ofScope(scope)) ?? { name: '', postalAddress: '' };
    const subject = { call, nodeId, person, project, at };
    if (body === null) return { contentType: 'application/json', body: JSON.stringify(defaultBody(subject)) };
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

/** The same as messaging.step_id: the run's id with the place of the node. */
function stepId(runId: string, place: number): string {
  return runId.slice(0, -2) + (place + 1).toString(16).padStart(2, '0');
}

function defaultBody({ call, nodeId, person, at }: WebhookSubject): object {
  const { automationId, automationKey } = call.plan;
  const {
    subscriberId: id,
    email,
    externalId,
    firstName,
    lastName,
    phone,
    locale,
    timeZone,
    customFields,
  } = person;
  const subscriber = { id, email, externalId, firstName, lastName, phone, locale, timeZone, customFields };
  return {
    type: 'automation.webhook',
    timestamp: at.toISOString(),
    data: { automationId, automationKey, executionId: call.id, nodeId, subscriber, data: call.data },
  };
}

function valuesOf({ call, person, project }: WebhookSubject): MergeValues {
  return {
    subscriber: subscriberValues(person),
    custom: person.customFields,
    topic: { name: '', key: '' },
    campaign: { name: '', key: call.plan.automationKey },
    project: projectValues(project),
    links: { unsubscribe: '', preferences: '', view: '' },
    event: call.data ?? {},
  };
}

import { Injectable } from '@nestjs/common';
import { type AwaitedTrigger, Triggers, UsageCatalogue } from '#audience';
import { InvalidStateError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { MessagingTables } from '../../messaging-tables.js';
import { type Automation, type AutomationStatus, refuseUnlessAllowed } from '../automation.js';
import { AutomationChecks, type ResolvedAutomation } from './automation-checks.service.js';
import { IncompleteAutomationError } from '../automation.errors.js';
import { AutomationPlan } from './automation-plan.service.js';
import { stopSteps } from '../runs/run-locks.query.js';
import { wakeRunners } from '../runs/runs.channel.js';

/** Changes the status of a locked automation in the open transaction, with all that follows from it. */
@Injectable()
export class AutomationLifecycle {
  constructor(
    private readonly database: Database,
    private readonly checks: AutomationChecks,
    private readonly plan: AutomationPlan,
    private readonly triggers: Triggers,
    private readonly usage: UsageCatalogue,
  ) {}

  /** Throws DomainValidationError, InvalidStateError, IncompleteAutomationError. Does nothing when it has that status. */
  async become(
    scope: ProjectScope,
    automation: Automation,
    status: AutomationStatus,
    now: Date,
  ): Promise<void> {
    if (status === automation.status) return;
    if (status === 'ACTIVE') await this.activate(scope, automation, now);
    else if (status === 'PAUSED') await this.pause(scope, automation, now);
    else if (status === 'ARCHIVED') await this.#archive(scope, automation, now);
    else
      throw new InvalidStateError('An automation cannot become a DRAFT again.', automation.status, ['DRAFT']);
  }

  /** Throws InvalidStateError, IncompleteAutomationError, DomainValidationError when the plan does not include automations. */
  async activate(scope: ProjectScope, automation: Automation, now: Date): Promise<void> {
    refuseUnlessAllowed('activate', automation.status);
    await this.plan.refuseUnlessIncluded(scope);
    await this.usage.hold(scope);
    const judged = await this.checks.judge(scope, automation);
    if ('checks' in judged) throw new IncompleteAutomationError(automation.status, judged.checks);
    const kept = automation.isRevised ? null : automation.versionId;
    automation.activate(kept ?? (await this.#addVersion(automation, judged.resolved, now)), now);
    const awaited = awaitedBy(automation, judged.resolved);
    if (awaited === null) await this.triggers.forget(scope, automation.id);
    else await this.triggers.watch(scope, automation.id, awaited);
    wakeRunners(this.database);
  }

  /** Throws InvalidStateError. */
  async pause(scope: ProjectScope, automation: Automation, now: Date): Promise<void> {
    automation.pause(now);
    await this.triggers.pause(scope, automation.id);
    // Step batches that are under way end first: when the answer comes, nobody moves.
    await stopSteps(this.database, automation.id);
  }

  async #archive(scope: ProjectScope, automation: Automation, now: Date): Promise<void> {
    automation.archive(now);
    await this.triggers.forget(scope, automation.id);
    await stopSteps(this.database, automation.id);
    wakeRunners(this.database);
  }

  /** Throws InvalidStateError while it is ACTIVE or has active runs. */
  async delete(scope: ProjectScope, automation: Automation, activeRuns: number, now: Date): Promise<void> {
    automation.delete(activeRuns, now);
    await this.triggers.forget(scope, automation.id);
  }

  /** A version is never changed: active runs go on in the one that they entered. Resolves to its id. */
  async #addVersion(
    { id: automationId, environmentId, triggerType, triggerTopicId, nodes, edges }: Automation,
    { mailTopicIds, topicIds, segmentIds }: ResolvedAutomation,
    createdAt: Date,
  ): Promise<number> {
    if (triggerType === null || nodes === null) throw new Error('The automation lacks a trigger or steps.');
    const content = { environmentId, automationId, triggerType, triggerTopicId, nodes, edges: edges ?? '[]' };
    const needs = { mailTopicIds, topicIds, segmentIds, createdAt };
    const tables = this.database.tables<MessagingTables>();
    const { newest } = await tables
      .selectFrom('messaging.automation_versions')
      .select(({ fn }) => fn.max('version').as('newest'))
      .where('environmentId', '=', environmentId)
      .where('automationId', '=', automationId)
      .executeTakeFirstOrThrow();
    const { id } = await tables
      .insertInto('messaging.automation_versions')
      .values({ ...content, ...needs, version: (newest ?? 0) + 1 })
      .returning('id')
      .executeTakeFirstOrThrow();
    return id;
  }
}

/** What lets people in; null when only a client does. */
function awaitedBy(
  { triggerType, triggerTopicId }: Automation,
  { triggerSegmentId, eventName }: ResolvedAutomation,
): AwaitedTrigger | null {
  if (triggerType === 'subscriber_joins_list' && triggerTopicId !== null)
    return { kind: 'SUBSCRIBED', subject: triggerTopicId };
  if (triggerType === 'segment_entered' && triggerSegmentId !== null)
    return { kind: 'SEGMENT_ENTERED', subject: triggerSegmentId };
  if (triggerType === 'segment_left' && triggerSegmentId !== null)
    return { kind: 'SEGMENT_LEFT', subject: triggerSegmentId };
  if (triggerType === 'custom_event' && eventName !== null)
    return { kind: 'CUSTOM_EVENT', subject: eventName };
  return null;
}

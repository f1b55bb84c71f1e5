import { Inject, Injectable } from '@nestjs/common';
import { type AwaitedTrigger, Triggers } from '#audience';
import { Clock, InvalidStateError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { Automation, AutomationState, AutomationStatus } from '../automation.js';
import { AutomationChecks, type ResolvedAutomation } from './automation-checks.service.js';
import { IncompleteAutomationError } from '../automation.errors.js';
import { AutomationPlan } from './automation-plan.service.js';
import { AutomationVersions } from './automation-versions.query.js';
import { stopSteps } from '../runs/run-locks.query.js';
import { wakeRunners } from '../runs/runs.channel.js';

/** Takes a locked automation from one status to another, with all that follows from it. */
@Injectable()
export class AutomationLifecycle {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(AutomationChecks) private readonly checks: AutomationChecks,
    @Inject(AutomationPlan) private readonly plan: AutomationPlan,
    @Inject(AutomationVersions) private readonly versions: AutomationVersions,
    @Inject(Triggers) private readonly triggers: Triggers,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Throws DomainValidationError, InvalidStateError, IncompleteAutomationError. Nothing happens when it has that status. */
  async become(scope: ProjectScope, automation: Automation, status: AutomationStatus): Promise<void> {
    const { status: current } = automation.state;
    if (status === current) return;
    if (status === 'ACTIVE') await this.activate(scope, automation);
    else if (status === 'PAUSED') await this.pause(scope, automation);
    else if (status === 'ARCHIVED') await this.#archive(scope, automation);
    else throw new InvalidStateError('An automation never becomes a DRAFT again.', current, ['DRAFT']);
  }

  /** Throws InvalidStateError, IncompleteAutomationError, DomainValidationError where the plan has no automations. */
  async activate(scope: ProjectScope, automation: Automation): Promise<void> {
    automation.refuseUnlessAllowed('activate');
    await this.plan.refuseUnlessIncluded(scope);
    const { state } = automation;
    const judged = await this.checks.judge(scope, state);
    if ('checks' in judged) throw new IncompleteAutomationError(state.status, judged.checks);
    const now = this.clock.now();
    const kept = state.isRevised ? null : state.versionId;
    automation.activate(kept ?? (await this.versions.add(scope, state, judged.resolved, now)), now);
    const awaited = awaitedBy(state, judged.resolved);
    if (awaited === null) await this.triggers.forget(scope, state.id);
    else await this.triggers.watch(scope, state.id, awaited);
    await this.database.transaction(scope, ({ db }) => wakeRunners(db));
  }

  /** Throws InvalidStateError. */
  async pause(scope: ProjectScope, automation: Automation): Promise<void> {
    automation.pause(this.clock.now());
    await this.triggers.rest(scope, automation.state.id);
    // Steps that are being taken end before the answer: who is inside then stays where they are.
    await this.database.transaction(scope, ({ db }) => stopSteps(db, automation.state.id));
  }

  async #archive(scope: ProjectScope, automation: Automation): Promise<void> {
    const { id } = automation.state;
    automation.archive(this.clock.now());
    await this.triggers.forget(scope, id);
    await this.database.transaction(scope, async ({ db }) => {
      await stopSteps(db, id);
      await wakeRunners(db);
    });
  }
}

/** What lets people in; null when only a client does. */
function awaitedBy(
  { triggerType, triggerTopicId }: AutomationState,
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

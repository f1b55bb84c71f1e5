import { Injectable } from '@nestjs/common';
import {
  type AwaitedTrigger,
  SegmentEvaluationsService,
  SegmentsQuery,
  TopicsQuery,
  TriggersService,
  UsageCatalogueService,
  WaitsService,
} from '#audience';
import { PlanLimitsService } from '#billing';
import { DomainValidationError, InvalidStateError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import {
  type Automation,
  type AutomationChanges,
  type AutomationFields,
  type AutomationStatus,
  type AutomationWarning,
  IncompleteAutomationError,
  type NewAutomation,
  refuseUnlessAllowed,
} from '../automation.js';
import { AutomationRepository, waitsOf } from '../automation.repository.js';
import { AutomationsQuery, type AutomationView } from '../automations.query.js';
import { type AutomationGraph, isOf, readGraph } from '../graph/automation-graph.js';
import { GraphFaults } from '../graph/config-reader.js';
import { readConfig } from '../graph/node-config.js';
import { stopSteps, wakeRunners } from '../runs/run.repository.js';
import { AutomationChecksService, type ResolvedAutomation } from './automation-checks.service.js';

/** A part that is left out stays; null removes it. */
export interface ContentPatch {
  readonly nodes?: string | null | undefined;
  readonly edges?: string | null | undefined;
}

export type AutomationPatch = AutomationChanges & {
  readonly status?: AutomationStatus | undefined;
};

/** Creates, edits, activates, pauses, archives and deletes automations. */
@Injectable()
export class AutomationsService {
  constructor(
    private readonly database: Database,
    private readonly automations: AutomationRepository,
    private readonly query: AutomationsQuery,
    private readonly checks: AutomationChecksService,
    private readonly features: PlanLimitsService,
    private readonly topics: TopicsQuery,
    private readonly segments: SegmentsQuery,
    private readonly evaluations: SegmentEvaluationsService,
    private readonly triggers: TriggersService,
    private readonly usage: UsageCatalogueService,
    private readonly waits: WaitsService,
  ) {}

  /** Creates a DRAFT. Throws DomainValidationError. */
  async create(scope: ProjectScope, fields: NewAutomation): Promise<AutomationView> {
    await this.#refuseUnlessIncluded(scope);
    await this.#refuseUnknownTopic(scope, fields.triggerTopicId ?? null);
    const { id } = await this.automations.add(scope, fields);
    return this.query.get(scope, id);
  }

  /** Throws NotFoundError, DomainValidationError for an invalid graph, InvalidStateError while it is ACTIVE. */
  async replaceContent(scope: ProjectScope, idOrKey: string, content: ContentPatch): Promise<AutomationView> {
    const warnings = await this.#warnings(scope, idOrKey, content);
    const view = await this.#change(scope, idOrKey, (automation, now) => {
      if (content.nodes === undefined && content.edges === undefined) return;
      const { nodes = automation.nodes, edges = automation.edges } = content;
      const { graph, errors } = readGraph({ nodes, edges });
      if (errors !== undefined) throw new DomainValidationError(errors);
      automation.replaceContent({ nodes, edges, nodeCount: graph.nodes.length }, now);
    });
    return { ...view, warnings };
  }

  /** Changes fields and status. Throws NotFoundError, DomainValidationError, InvalidStateError, IncompleteAutomationError. */
  async update(
    scope: ProjectScope,
    idOrKey: string,
    { status, ...fields }: AutomationPatch,
  ): Promise<AutomationView> {
    const warnings = status === 'ACTIVE' ? await this.#prepare(scope, idOrKey, fields) : [];
    const view = await this.#change(scope, idOrKey, async (automation, now) => {
      await this.#refuseUnknownTopic(scope, fields.triggerTopicId ?? null);
      automation.describe(fields, now);
      if (status !== undefined) await this.#become(scope, automation, status, now);
    });
    return { ...view, warnings };
  }

  /** Throws NotFoundError, DomainValidationError, InvalidStateError, IncompleteAutomationError. */
  async activate(scope: ProjectScope, idOrKey: string): Promise<AutomationView> {
    const warnings = await this.#prepare(scope, idOrKey);
    const view = await this.#change(scope, idOrKey, (automation, now) =>
      this.#activate(scope, automation, now),
    );
    return { ...view, warnings };
  }

  /** Throws NotFoundError, InvalidStateError. */
  pause(scope: ProjectScope, idOrKey: string): Promise<AutomationView> {
    return this.#change(scope, idOrKey, (automation, now) => this.#pause(scope, automation, now));
  }

  /** Throws NotFoundError, InvalidStateError while it is ACTIVE or has active runs. */
  async delete(scope: ProjectScope, idOrKey: string): Promise<void> {
    await this.automations.change(scope, idOrKey, async (automation, now) => {
      const { currentlyActive } = await this.query.get(scope, automation.id);
      automation.delete(currentlyActive, now);
      await this.triggers.forget(scope, automation.id);
      await this.waits.close(scope, await waitsOf(this.database, scope, automation.id));
      this.automations.removeUnused(automation);
    });
  }

  async #change(
    scope: ProjectScope,
    idOrKey: string,
    change: (automation: Automation, now: Date) => unknown,
  ): Promise<AutomationView> {
    const { id } = await this.automations.change(scope, idOrKey, change);
    return this.query.get(scope, id);
  }

  async #become(
    scope: ProjectScope,
    automation: Automation,
    status: AutomationStatus,
    now: Date,
  ): Promise<void> {
    if (status === automation.status) return;
    if (status === 'ACTIVE') await this.#activate(scope, automation, now);
    else if (status === 'PAUSED') await this.#pause(scope, automation, now);
    else if (status === 'ARCHIVED') await this.#archive(scope, automation, now);
    else
      throw new InvalidStateError('An automation cannot become a DRAFT again.', automation.status, ['DRAFT']);
  }

  async #activate(scope: ProjectScope, automation: Automation, now: Date): Promise<void> {
    refuseUnlessAllowed('activate', automation.status);
    await this.#refuseUnlessIncluded(scope);
    await this.usage.hold(scope);
    const checked = await this.checks.check(scope, automation);
    if ('checks' in checked) throw new IncompleteAutomationError(automation.status, checked.checks);
    const unchanged = automation.isRevised ? null : automation.versionId;
    const version = unchanged ?? (await this.automations.addVersion(automation, checked.resolved, now));
    automation.activate(version, now);
    if (unchanged === null) {
      for (const [waitId, what] of checked.resolved.awaited) await this.waits.open(scope, waitId, what);
      await this.waits.close(scope, await waitsOf(this.database, scope, automation.id, version));
    }
    const awaited = awaitedBy(automation, checked.resolved);
    if (awaited === null) await this.triggers.forget(scope, automation.id);
    else await this.triggers.watch(scope, automation.id, awaited);
    wakeRunners(this.database);
  }

  async #pause(scope: ProjectScope, automation: Automation, now: Date): Promise<void> {
    automation.pause(now);
    await this.triggers.pause(scope, automation.id);
    // Waits for step batches in progress: once the answer comes, nobody moves.
    await stopSteps(this.database, automation.id);
  }

  async #archive(scope: ProjectScope, automation: Automation, now: Date): Promise<void> {
    automation.archive(now);
    await this.triggers.forget(scope, automation.id);
    await stopSteps(this.database, automation.id);
    wakeRunners(this.database);
  }

  /**
   * Does before an activation what takes too long while the automation is locked; resolves to the warnings. Skips one that is
   * ACTIVE already: a subscriber who entered its segment meanwhile is to enter it.
   */
  async #prepare(
    scope: ProjectScope,
    idOrKey: string,
    fields: Partial<AutomationFields> = {},
  ): Promise<readonly AutomationWarning[]> {
    const automation = await this.query.get(scope, idOrKey);
    if (automation.status !== 'DRAFT' && automation.status !== 'PAUSED') return [];
    const { graph } = readGraph(automation);
    if (graph === undefined) return [];
    const { triggerType = automation.triggerType } = fields;
    if (triggerType === 'segment_entered' || triggerType === 'segment_left')
      await this.#evaluateSegment(scope, graph);
    await this.checks.checkBodies(scope, graph);
    return this.checks.warnings(scope, graph, triggerType);
  }

  /**
   * Evaluates the trigger's segment right before the automation watches it: the next evaluation would otherwise report
   * subscribers who entered or left it before. Where this takes too long, the worker does it within a minute.
   */
  async #evaluateSegment(scope: ProjectScope, { nodes }: AutomationGraph): Promise<void> {
    const trigger = nodes.find((node) => isOf(node, 'trigger'));
    const key = trigger && readConfig(trigger, '', new GraphFaults())?.segmentKey;
    const segment = key == null ? null : await this.segments.find(scope, key);
    if (segment !== null) await this.evaluations.evaluateQuickly(scope, segment.id);
  }

  /** The warnings of new content, before the automation is locked; none for content that the change will refuse. */
  async #warnings(
    scope: ProjectScope,
    idOrKey: string,
    content: ContentPatch,
  ): Promise<readonly AutomationWarning[]> {
    const { status, ...before } = await this.query.get(scope, idOrKey);
    const { nodes = before.nodes, edges = before.edges } = content;
    const { graph } = readGraph({ nodes, edges });
    if (graph === undefined || status === 'ACTIVE') return [];
    return this.checks.warnings(scope, graph, before.triggerType);
  }

  async #refuseUnlessIncluded(scope: ProjectScope): Promise<void> {
    if (await this.features.allows(scope, 'automations')) return;
    throw new DomainValidationError({ plan: 'the plan does not include automations' });
  }

  async #refuseUnknownTopic(scope: ProjectScope, topicId: string | null): Promise<void> {
    if (topicId === null || (await this.topics.named(scope, [topicId])).length > 0) return;
    throw new DomainValidationError({ triggerTopicId: 'is not a known topic' });
  }
}

/** The trigger to watch; null when only a client lets subscribers in. */
function awaitedBy(
  { triggerType, triggerTopicId }: Automation,
  { triggerSegmentId, eventName, eventWhere }: ResolvedAutomation,
): AwaitedTrigger | null {
  if (triggerType === 'subscriber_joins_list' && triggerTopicId !== null)
    return { kind: 'SUBSCRIBED', subject: triggerTopicId };
  if (triggerType === 'segment_entered' && triggerSegmentId !== null)
    return { kind: 'SEGMENT_ENTERED', subject: triggerSegmentId };
  if (triggerType === 'segment_left' && triggerSegmentId !== null)
    return { kind: 'SEGMENT_LEFT', subject: triggerSegmentId };
  if (triggerType === 'custom_event' && eventName !== null)
    return { kind: 'CUSTOM_EVENT', subject: eventName, where: eventWhere };
  return null;
}

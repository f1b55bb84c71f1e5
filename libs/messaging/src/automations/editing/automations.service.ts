import { Inject, Injectable } from '@nestjs/common';
import { Triggers, TopicsQuery } from '#audience';
import { Clock, DomainValidationError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { Automation, AutomationFields, AutomationStatus } from '../automation.js';
import { AutomationChecks } from './automation-checks.service.js';
import { AutomationPlan } from './automation-plan.service.js';
import { AutomationLifecycle } from './automation-lifecycle.service.js';
import { AutomationRepository } from '../automation.repository.js';
import { AutomationsQuery, type AutomationView } from '../automations.query.js';
import { readGraph } from '../graph/graph-reader.js';
import { TriggerSegments } from './trigger-segments.service.js';

export interface AutomationPatch extends Partial<AutomationFields> {
  readonly status?: AutomationStatus | undefined;
}

/** Either alone leaves the other as it is; null takes all away. */
export interface ContentPatch {
  readonly nodes?: string | null | undefined;
  readonly edges?: string | null | undefined;
}

const EMPTY = '[]';

/** What a client does with automations. People in them are `AutomationEntries` and the runner. */
@Injectable()
export class AutomationsService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(AutomationRepository) private readonly automations: AutomationRepository,
    @Inject(AutomationsQuery) private readonly query: AutomationsQuery,
    @Inject(AutomationLifecycle) private readonly lifecycle: AutomationLifecycle,
    @Inject(AutomationChecks) private readonly checks: AutomationChecks,
    @Inject(TriggerSegments) private readonly triggerSegments: TriggerSegments,
    @Inject(AutomationPlan) private readonly plan: AutomationPlan,
    @Inject(TopicsQuery) private readonly topics: TopicsQuery,
    @Inject(Triggers) private readonly triggers: Triggers,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** A new DRAFT. Throws DomainValidationError. */
  create(scope: ProjectScope, fields: AutomationFields): Promise<AutomationView> {
    return this.database.transaction(scope, async () => {
      await this.plan.refuseUnlessIncluded(scope);
      await this.#refuseUnknownTopic(scope, fields.triggerTopicId);
      const id = await this.automations.add(scope, fields, this.clock.now());
      return this.query.get(scope, id);
    });
  }

  /** Throws NotFoundError, DomainValidationError, InvalidStateError, IncompleteAutomationError. */
  async update(
    scope: ProjectScope,
    idOrKey: string,
    { status, ...fields }: AutomationPatch,
  ): Promise<AutomationView> {
    if (status === 'ACTIVE') await this.#lookBeforeWaiting(scope, idOrKey, fields);
    return this.#change(scope, idOrKey, async (automation) => {
      await this.#refuseUnknownTopic(scope, fields.triggerTopicId ?? null);
      automation.describe(fields, this.clock.now());
      if (status !== undefined) await this.lifecycle.become(scope, automation, status);
    });
  }

  /** Throws NotFoundError, DomainValidationError for what is no graph, InvalidStateError while it is ACTIVE. */
  replaceContent(scope: ProjectScope, idOrKey: string, content: ContentPatch): Promise<AutomationView> {
    return this.#change(scope, idOrKey, (automation) => {
      if (content.nodes === undefined && content.edges === undefined) return Promise.resolve();
      const { nodes = automation.state.nodes, edges = automation.state.edges } = content;
      const { graph, errors } = readGraph({ nodes: nodes ?? EMPTY, edges: edges ?? EMPTY });
      if (errors !== undefined) throw new DomainValidationError(errors);
      automation.replaceContent({ nodes, edges, nodeCount: graph.nodes.length }, this.clock.now());
      return Promise.resolve();
    });
  }

  /** Throws NotFoundError, DomainValidationError, InvalidStateError, IncompleteAutomationError. */
  async activate(scope: ProjectScope, idOrKey: string): Promise<AutomationView> {
    await this.#lookBeforeWaiting(scope, idOrKey, {});
    return this.#change(scope, idOrKey, (automation) => this.lifecycle.activate(scope, automation));
  }

  /** Throws NotFoundError, InvalidStateError. */
  pause(scope: ProjectScope, idOrKey: string): Promise<AutomationView> {
    return this.#change(scope, idOrKey, (automation) => this.lifecycle.pause(scope, automation));
  }

  /** Throws NotFoundError, InvalidStateError while it is ACTIVE or anybody is inside. */
  delete(scope: ProjectScope, idOrKey: string): Promise<void> {
    return this.database.transaction(scope, async () => {
      const automation = await this.automations.lock(scope, idOrKey);
      const { currentlyActive } = await this.query.get(scope, automation.state.id);
      automation.refuseUnlessDeletable(currentlyActive);
      await this.triggers.forget(scope, automation.state.id);
      await this.automations.remove(scope, automation, this.clock.now());
    });
  }

  /** Not where it is ACTIVE already: who came meanwhile shall come in. */
  async #lookBeforeWaiting(
    scope: ProjectScope,
    idOrKey: string,
    { triggerType }: Partial<AutomationFields>,
  ): Promise<void> {
    const now = await this.query.get(scope, idOrKey);
    if (now.status !== 'DRAFT' && now.status !== 'PAUSED') return;
    const automation = triggerType === undefined ? now : { ...now, triggerType };
    await this.triggerSegments.lookBeforeWaiting(scope, automation);
    await this.checks.prepare(scope, now);
  }

  #change(
    scope: ProjectScope,
    idOrKey: string,
    change: (automation: Automation) => Promise<void>,
  ): Promise<AutomationView> {
    return this.database.transaction(scope, async () => {
      const automation = await this.automations.lock(scope, idOrKey);
      await change(automation);
      await this.automations.save(scope, automation);
      return this.query.get(scope, automation.state.id);
    });
  }

  async #refuseUnknownTopic(scope: ProjectScope, topicId: string | null): Promise<void> {
    if (topicId === null || (await this.topics.named(scope, [topicId])).length > 0) return;
    throw new DomainValidationError({ triggerTopicId: 'is not a known topic' });
  }
}

import { Injectable } from '@nestjs/common';
import { TopicsQuery } from '#audience';
import { DomainValidationError, type ProjectScope } from '#kernel';
import type { AutomationFields } from '../automation.js';
import { AutomationRepository } from '../automation.repository.js';
import { AutomationsQuery, type AutomationView } from '../automations.query.js';
import { readGraph } from '../graph/graph-reader.js';
import type { AutomationWarning } from '../automation.errors.js';
import { MailChecks } from './mail-checks.service.js';
import { AutomationPlan } from './automation-plan.service.js';

/** A part that is left out stays; null removes it. */
export interface ContentPatch {
  readonly nodes?: string | null | undefined;
  readonly edges?: string | null | undefined;
}

/** Creates automations and replaces their steps. */
@Injectable()
export class AutomationEditor {
  constructor(
    private readonly automations: AutomationRepository,
    private readonly query: AutomationsQuery,
    private readonly plan: AutomationPlan,
    private readonly topics: TopicsQuery,
    private readonly mails: MailChecks,
  ) {}

  /** Creates a DRAFT. Throws DomainValidationError. */
  async create(scope: ProjectScope, fields: AutomationFields): Promise<AutomationView> {
    await this.plan.refuseUnlessIncluded(scope);
    await refuseUnknownTopic(this.topics, scope, fields.triggerTopicId);
    const { id } = await this.automations.add(scope, fields);
    return this.query.get(scope, id);
  }

  /** Throws NotFoundError, DomainValidationError for what is no graph, InvalidStateError while it is ACTIVE. */
  async replaceContent(scope: ProjectScope, idOrKey: string, content: ContentPatch): Promise<AutomationView> {
    const warnings = await this.#warnings(scope, idOrKey, content);
    const { id } = await this.automations.change(scope, idOrKey, (automation, now) => {
      if (content.nodes === undefined && content.edges === undefined) return;
      const { nodes = automation.nodes, edges = automation.edges } = content;
      const { graph, errors } = readGraph({ nodes, edges });
      if (errors !== undefined) throw new DomainValidationError(errors);
      automation.replaceContent({ nodes, edges, nodeCount: graph.nodes.length }, now);
    });
    return { ...(await this.query.get(scope, id)), warnings };
  }

  /** Before the change: content takes too long while the automation is locked. None of what is refused next. */
  async #warnings(
    scope: ProjectScope,
    idOrKey: string,
    content: ContentPatch,
  ): Promise<readonly AutomationWarning[]> {
    const { status, ...before } = await this.query.get(scope, idOrKey);
    const { nodes = before.nodes, edges = before.edges } = content;
    const { graph } = readGraph({ nodes, edges });
    return graph === undefined || status === 'ACTIVE' ? [] : this.mails.warnings(scope, graph);
  }
}

/** Throws DomainValidationError. */
export async function refuseUnknownTopic(
  topics: TopicsQuery,
  scope: ProjectScope,
  topicId: string | null,
): Promise<void> {
  if (topicId === null || (await topics.named(scope, [topicId])).length > 0) return;
  throw new DomainValidationError({ triggerTopicId: 'is not a known topic' });
}

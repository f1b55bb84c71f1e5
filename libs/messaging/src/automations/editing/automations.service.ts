import { Injectable } from '@nestjs/common';
import { TopicsQuery } from '#audience';
import type { ProjectScope } from '#kernel';
import type { Automation, AutomationFields, AutomationStatus } from '../automation.js';
import { AutomationRepository } from '../automation.repository.js';
import { AutomationsQuery, type AutomationView } from '../automations.query.js';
import { refuseUnknownTopic } from './automation-editor.service.js';
import { AutomationLifecycle } from './automation-lifecycle.service.js';
import { AutomationPreparation } from './automation-preparation.service.js';

export interface AutomationPatch extends Partial<AutomationFields> {
  readonly status?: AutomationStatus | undefined;
}

/** Changes automations: their fields and their status. */
@Injectable()
export class AutomationsService {
  constructor(
    private readonly automations: AutomationRepository,
    private readonly query: AutomationsQuery,
    private readonly lifecycle: AutomationLifecycle,
    private readonly preparation: AutomationPreparation,
    private readonly topics: TopicsQuery,
  ) {}

  /** Throws NotFoundError, DomainValidationError, InvalidStateError, IncompleteAutomationError. */
  async update(
    scope: ProjectScope,
    idOrKey: string,
    { status, ...fields }: AutomationPatch,
  ): Promise<AutomationView> {
    const warnings = status === 'ACTIVE' ? await this.preparation.prepare(scope, idOrKey, fields) : [];
    const view = await this.#change(scope, idOrKey, async (automation, now) => {
      await refuseUnknownTopic(this.topics, scope, fields.triggerTopicId ?? null);
      automation.describe(fields, now);
      if (status !== undefined) await this.lifecycle.become(scope, automation, status, now);
    });
    return { ...view, warnings };
  }

  /** Throws NotFoundError, DomainValidationError, InvalidStateError, IncompleteAutomationError. */
  async activate(scope: ProjectScope, idOrKey: string): Promise<AutomationView> {
    const warnings = await this.preparation.prepare(scope, idOrKey);
    const view = await this.#change(scope, idOrKey, (automation, now) =>
      this.lifecycle.activate(scope, automation, now),
    );
    return { ...view, warnings };
  }

  /** Throws NotFoundError, InvalidStateError. */
  pause(scope: ProjectScope, idOrKey: string): Promise<AutomationView> {
    return this.#change(scope, idOrKey, (automation, now) => this.lifecycle.pause(scope, automation, now));
  }

  /** Throws NotFoundError, InvalidStateError while it is ACTIVE or has active runs. */
  async delete(scope: ProjectScope, idOrKey: string): Promise<void> {
    await this.automations.change(scope, idOrKey, async (automation, now) => {
      const { currentlyActive } = await this.query.get(scope, automation.id);
      await this.lifecycle.delete(scope, automation, currentlyActive, now);
      this.automations.removeUnused(automation);
    });
  }

  async #change(
    scope: ProjectScope,
    idOrKey: string,
    change: (automation: Automation, now: Date) => Promise<void>,
  ): Promise<AutomationView> {
    const { id } = await this.automations.change(scope, idOrKey, change);
    return this.query.get(scope, id);
  }
}

import { Inject, Injectable } from '@nestjs/common';
import {
  CustomFieldsQuery,
  CustomFieldsService,
  SegmentsQuery,
  SegmentsService,
  TopicsQuery,
} from '#audience';
import { DomainValidationError, NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { AutomationsService } from '../editing/automations.service.js';
import { type AutomationTemplate, filledIn } from './automation-template.js';
import { automationTemplateNames, loadAutomationTemplate } from './automation-templates.query.js';

/** What is to be installed, and for whom. */
export interface InstallationWish {
  readonly template: string;
  readonly topicKey: string;
  /** Null: the segment that the template is for, if any, is made. */
  readonly segmentKey: string | null;
}

export interface InstalledAutomation {
  readonly id: string;
  readonly automationKey: string;
  readonly segmentKey: string | null;
  /** The keys of the custom fields that were made for it. */
  readonly customFields: readonly string[];
}

/** Makes drafts of templates, with the segment and the custom fields that they need. */
@Injectable()
export class AutomationInstaller {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(AutomationsService) private readonly automations: AutomationsService,
    @Inject(TopicsQuery) private readonly topics: TopicsQuery,
    @Inject(SegmentsQuery) private readonly segments: SegmentsQuery,
    @Inject(SegmentsService) private readonly newSegments: SegmentsService,
    @Inject(CustomFieldsQuery) private readonly fields: CustomFieldsQuery,
    @Inject(CustomFieldsService) private readonly newFields: CustomFieldsService,
  ) {}

  /** All of it or nothing. Throws DomainValidationError by the names of the wish. */
  async install(scope: ProjectScope, wish: InstallationWish): Promise<InstalledAutomation> {
    const template = loadAutomationTemplate(wish.template);
    if (template === null)
      throw new DomainValidationError({ template: `must be one of ${automationTemplateNames().join(', ')}` });
    return this.database.transaction(scope, async () => {
      const topicId = await this.topics.idOf(scope, wish.topicKey);
      if (topicId === null) throw new DomainValidationError({ topicKey: 'is not a known topic' });
      const customFields = await this.#prepareFields(scope, template);
      const segmentKey = await this.#segmentFor(scope, template, wish);
      const { id, automationKey } = await this.automations.create(scope, {
        name: template.name,
        description: template.description,
        triggerType: template.trigger.type,
        triggerTopicId: topicId,
      });
      const nodes = filledIn(template.nodes, { topicKey: wish.topicKey, segmentKey });
      await this.automations.replaceContent(scope, id, { nodes, edges: JSON.stringify(template.edges) });
      return { id, automationKey, segmentKey, customFields };
    });
  }

  /** The keys of those that were not there. */
  async #prepareFields(scope: ProjectScope, { customFields }: AutomationTemplate): Promise<string[]> {
    const known = await this.fields.definitions(scope);
    const made: string[] = [];
    for (const { key, displayName, type } of customFields) {
      const there = known.find((field) => field.key === key);
      if (there !== undefined && there.type !== type)
        throw new DomainValidationError({ template: `needs the custom field ${key} to be a ${type}` });
      if (there !== undefined) continue;
      await this.newFields.create(scope, { key, displayName, type });
      made.push(key);
    }
    return made;
  }

  async #segmentFor(
    scope: ProjectScope,
    { segment }: AutomationTemplate,
    { segmentKey, topicKey }: InstallationWish,
  ): Promise<string | null> {
    if (segment === null) {
      if (segmentKey !== null) throw new DomainValidationError({ segmentKey: 'is not for this template' });
      return null;
    }
    if (segmentKey === null) {
      const { name, description, rules } = segment;
      const filled = filledIn(rules, { topicKey, segmentKey });
      return (await this.newSegments.create(scope, { name, description, rules: filled })).segmentKey;
    }
    try {
      return (await this.segments.get(scope, segmentKey)).segmentKey;
    } catch (error) {
      if (error instanceof NotFoundError)
        throw new DomainValidationError({ segmentKey: 'is not a known segment' });
      throw error;
    }
  }
}

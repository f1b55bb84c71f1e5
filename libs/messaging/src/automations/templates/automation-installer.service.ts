import { Injectable } from '@nestjs/common';
import { TopicsQuery, UsageCatalogue } from '#audience';
import { DomainValidationError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { AutomationEditor } from '../editing/automation-editor.service.js';
import { filledIn, type TemplateNames } from './automation-template.js';
import { automationTemplateNames, loadAutomationTemplate } from './automation-templates.query.js';
import { TemplateNeeds } from './template-needs.service.js';

/** What is to be installed, and for which topic and segment. */
export interface InstallationWish extends TemplateNames {
  readonly template: string;
}

export interface InstalledAutomation {
  readonly id: string;
  readonly automationKey: string;
  readonly segmentKey: string | null;
  /** The keys of the custom fields that were created for it. */
  readonly customFields: readonly string[];
}

/** Creates drafts from templates, with the segment and the custom fields that they need. */
@Injectable()
export class AutomationInstaller {
  constructor(
    private readonly database: Database,
    private readonly automations: AutomationEditor,
    private readonly topics: TopicsQuery,
    private readonly needs: TemplateNeeds,
    private readonly usage: UsageCatalogue,
  ) {}

  /** All of it or nothing. Throws DomainValidationError by the names of the wish. */
  async install(scope: ProjectScope, wish: InstallationWish): Promise<InstalledAutomation> {
    const template = loadAutomationTemplate(wish.template);
    if (template === null)
      throw new DomainValidationError({ template: `must be one of ${automationTemplateNames().join(', ')}` });
    return this.database.transaction(scope, async () => {
      await this.usage.hold(scope);
      const topicId = await this.topics.idOf(scope, wish.topicKey);
      if (topicId === null) throw new DomainValidationError({ topicKey: 'is not a known topic' });
      const customFields = await this.needs.customFields(scope, template);
      const segmentKey = await this.needs.segmentKey(scope, template, wish);
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
}

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import {
  CustomFieldsQuery,
  CustomFieldsService,
  SegmentsQuery,
  SegmentsService,
  TopicsQuery,
  UsageCatalogueService,
} from '#audience';
import { DomainValidationError, type ProjectScope } from '#kernel';
import { Database, projectRoot } from '#platform';
import { TRIGGER_TYPES } from '../automation.js';
import { AutomationsService } from './automations.service.js';

const object = z.record(z.string(), z.unknown());

const automationTemplate = z.strictObject({
  name: z.string(),
  description: z.string(),
  trigger: z.strictObject({ type: z.enum(TRIGGER_TYPES) }),
  /** Created where the installation names none. */
  segment: z.strictObject({ name: z.string(), description: z.string(), rules: object }).nullable(),
  customFields: z.array(
    z.strictObject({ key: z.string(), displayName: z.string(), type: z.enum(['DATE', 'TEXT', 'NUMBER']) }),
  ),
  nodes: z.array(object),
  edges: z.array(object),
});

/** An automation in which `$topicKey` and `$segmentKey` stand for the project's own. */
type AutomationTemplate = Readonly<z.output<typeof automationTemplate>>;

/** The project's keys for the names in a template. */
interface TemplateNames {
  readonly topicKey: string;
  /** Null: the segment of the template, if any, is created. */
  readonly segmentKey: string | null;
}

export interface Installation extends TemplateNames {
  readonly template: string;
}

export interface InstalledAutomation {
  readonly id: string;
  readonly automationKey: string;
  readonly segmentKey: string | null;
  /** The keys of the custom fields that were created for it. */
  readonly customFields: readonly string[];
}

const FILE = /^(?<name>[a-z]+(?:-[a-z]+)*)\.json$/;

/** The names of all templates: `assets/automation-templates/<name>.json`. */
export function automationTemplateNames(): readonly string[] {
  return readdirSync(directory())
    .flatMap((file) => FILE.exec(file)?.groups?.['name'] ?? [])
    .sort();
}

/** Null when there is none of that name. Throws an `Error` that names the faults of an invalid file. */
export function loadAutomationTemplate(name: string): AutomationTemplate | null {
  if (!automationTemplateNames().includes(name)) return null;
  return automationTemplate.parse(JSON.parse(readFileSync(join(directory(), `${name}.json`), 'utf8')));
}

function directory(): string {
  return join(projectRoot(), 'assets/automation-templates');
}

/** Installs templates: creates a draft, with the segment and the custom fields that it needs. */
@Injectable()
export class AutomationTemplatesService {
  constructor(
    private readonly database: Database,
    private readonly automations: AutomationsService,
    private readonly topics: TopicsQuery,
    private readonly segments: SegmentsQuery,
    private readonly newSegments: SegmentsService,
    private readonly fields: CustomFieldsQuery,
    private readonly newFields: CustomFieldsService,
    private readonly usage: UsageCatalogueService,
  ) {}

  /** All or nothing. Throws DomainValidationError by the fields of the installation. */
  async install(scope: ProjectScope, wanted: Installation): Promise<InstalledAutomation> {
    const template = loadAutomationTemplate(wanted.template);
    if (template === null)
      throw new DomainValidationError({ template: `must be one of ${automationTemplateNames().join(', ')}` });
    return this.database.transaction(scope, async () => {
      await this.usage.hold(scope);
      const topicId = await this.topics.idOf(scope, wanted.topicKey);
      if (topicId === null) throw new DomainValidationError({ topicKey: 'is not a known topic' });
      const customFields = await this.#createFields(scope, template);
      const segmentKey = await this.#segmentKey(scope, template, wanted);
      const { id, automationKey } = await this.automations.create(scope, {
        name: template.name,
        description: template.description,
        triggerType: template.trigger.type,
        triggerTopicId: topicId,
      });
      const nodes = filledIn(template.nodes, { topicKey: wanted.topicKey, segmentKey });
      await this.automations.replaceContent(scope, id, { nodes, edges: JSON.stringify(template.edges) });
      return { id, automationKey, segmentKey, customFields };
    });
  }

  /** Creates missing fields; resolves to their keys. */
  async #createFields(scope: ProjectScope, { customFields }: AutomationTemplate): Promise<string[]> {
    const known = await this.fields.definitions(scope);
    const created: string[] = [];
    for (const { key, displayName, type } of customFields) {
      const found = known.find((field) => field.key === key);
      if (found !== undefined && found.type !== type)
        throw new DomainValidationError({ template: `needs the custom field ${key} to be a ${type}` });
      if (found !== undefined) continue;
      await this.newFields.create(scope, { key, displayName, type });
      created.push(key);
    }
    return created;
  }

  /** The key of the named segment or of a new one; null for a template without a segment. */
  async #segmentKey(
    scope: ProjectScope,
    { segment }: AutomationTemplate,
    names: TemplateNames,
  ): Promise<string | null> {
    const { segmentKey } = names;
    if (segment === null) {
      if (segmentKey !== null) throw new DomainValidationError({ segmentKey: 'is not for this template' });
      return null;
    }
    if (segmentKey === null) {
      const rules = filledIn(segment.rules, names);
      return (await this.newSegments.create(scope, { ...segment, rules })).segmentKey;
    }
    const found = await this.segments.find(scope, segmentKey);
    if (found === null) throw new DomainValidationError({ segmentKey: 'is not a known segment' });
    return found.segmentKey;
  }
}

/** The part as JSON, with `$topicKey` and `$segmentKey` replaced wherever they are a whole value. */
function filledIn(part: unknown, { topicKey, segmentKey }: TemplateNames): string {
  const names = new Map<unknown, string | null>([
    ['$topicKey', topicKey],
    ['$segmentKey', segmentKey],
  ]);
  return JSON.stringify(part, (_, value: unknown) => (names.has(value) ? names.get(value) : value));
}

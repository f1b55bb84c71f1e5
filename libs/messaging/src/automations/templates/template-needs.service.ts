import { Injectable } from '@nestjs/common';
import { CustomFieldsQuery, CustomFieldsService, SegmentsQuery, SegmentsService } from '#audience';
import { DomainValidationError, type ProjectScope } from '#kernel';
import { type AutomationTemplate, filledIn, type TemplateNames } from './automation-template.js';

/** Finds or creates the custom fields and the segment that a template needs. */
@Injectable()
export class TemplateNeeds {
  constructor(
    private readonly segments: SegmentsQuery,
    private readonly newSegments: SegmentsService,
    private readonly fields: CustomFieldsQuery,
    private readonly newFields: CustomFieldsService,
  ) {}

  /** Resolves to the keys of those that it created. Throws DomainValidationError. */
  async customFields(scope: ProjectScope, { customFields }: AutomationTemplate): Promise<string[]> {
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

  /** The key of the segment, which is created where none is named; null for a template without one. Throws DomainValidationError. */
  async segmentKey(
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
      const { name, description, rules } = segment;
      return (await this.newSegments.create(scope, { name, description, rules: filledIn(rules, names) }))
        .segmentKey;
    }
    const found = await this.segments.find(scope, segmentKey);
    if (found === null) throw new DomainValidationError({ segmentKey: 'is not a known segment' });
    return found.segmentKey;
  }
}

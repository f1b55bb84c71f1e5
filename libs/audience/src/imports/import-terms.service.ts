import { Injectable } from '@nestjs/common';
import { Clock, type ProjectScope } from '#kernel';
import { type ChangeContext, type FirstConsents, firstConsents } from '../consents/consent.js';
import { definitionsDigest } from '../custom-fields/custom-field-values.js';
import type { CustomFieldDefinition } from '../custom-fields/custom-field.js';
import { CustomFieldsQuery } from '../custom-fields/custom-fields.query.js';
import { SubscriberLimitService } from '../subscriber-limit.service.js';
import { type GrantableTopic, grantFault } from '../topics/topic.js';
import { TopicRepository } from '../topics/topic.repository.js';
import type { Import } from './import.js';

/** The terms for applying rows: the state of the project, which stays until the transaction ends. */
export interface ImportTerms {
  readonly topics: readonly GrantableTopic[];
  /** The consents of new subscribers. */
  readonly first: FirstConsents;
  readonly definitions: readonly CustomFieldDefinition[];
  /** Whether checked rows were checked with the current definitions. */
  readonly areAsChecked: boolean;
  /** How many new subscribers the plan allows, at most one for each row. */
  readonly room: number;
  readonly occasion: ChangeContext;
}

/** Finds the terms for a chunk. */
@Injectable()
export class ImportTermsService {
  constructor(
    private readonly topics: TopicRepository,
    private readonly customFields: CustomFieldsQuery,
    private readonly limit: SubscriberLimitService,
    private readonly clock: Clock,
  ) {}

  /** For `rows` rows, whose addresses are locked; or why the import cannot go on. */
  async of(
    scope: ProjectScope,
    { topicKeys, definitionsDigest: digest, proof }: Import,
    rows: number,
  ): Promise<ImportTerms | { readonly refusal: string }> {
    const topics = await this.topics.named(scope, topicKeys);
    const refusals = topicKeys.flatMap((key) => {
      const fault = grantFault(topics.get(key));
      return fault === null ? [] : [`${key} ${fault}`];
    });
    if (refusals.length > 0) return { refusal: refusals.join(', ') };
    const definitions = await this.customFields.definitionsToWrite(scope);
    const at = this.clock.now();
    return {
      topics: [...topics.values()],
      first: firstConsents([...topics.values()], at),
      definitions,
      areAsChecked: digest === definitionsDigest(definitions),
      room: await this.limit.reserve(scope, rows),
      occasion: { at, proof },
    };
  }
}

import { Inject, Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { CustomFieldsQuery } from '../custom-fields/custom-fields.query.js';
import { grantFault } from '../topics/topic.js';
import { TopicRepository } from '../topics/topic.repository.js';
import type { ImportChunk } from './import-chunks.service.js';
import type { ImportPlan } from './import.repository.js';
import { readRow } from './import-row.js';
import type { RowRange } from './row-ranges.js';
import { StagedRows } from './staged-rows.repository.js';

/** Reads the rows that wait, as the project's topics and custom fields are now. */
@Injectable()
export class ImportReader {
  constructor(
    @Inject(StagedRows) private readonly staged: StagedRows,
    @Inject(TopicRepository) private readonly topics: TopicRepository,
    @Inject(CustomFieldsQuery) private readonly customFields: CustomFieldsQuery,
  ) {}

  /** The rows of a range that are left, or why the import cannot go on. */
  async read(
    scope: ProjectScope,
    { importId, columns, topicKeys }: ImportPlan,
    range: RowRange,
  ): Promise<ImportChunk | { readonly refusal: string }> {
    const staged = await this.staged.read(scope, importId, range);
    const topics = await this.topics.named(scope, topicKeys);
    const refusals = topicKeys.flatMap((key) => {
      const fault = grantFault(topics.get(key));
      return fault === null ? [] : [`${key} ${fault}`];
    });
    if (refusals.length > 0) return { refusal: refusals.join(', ') };
    const definitions = await this.customFields.definitions(scope);
    const rows = staged.map((row) => readRow(columns, row));
    return { range, rows, topics: [...topics.values()], definitions };
  }
}

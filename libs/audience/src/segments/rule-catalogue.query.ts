import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import { ActivityCatalogue } from './activity-catalogue.query.js';
import type { KnownField, KnownSegment, RuleCatalogue } from './rule-catalogue.js';
import type { RuleReferences } from './rule-reader.js';
import { knownSegments, type SegmentLinks } from './segment-graph.js';

/** Looks up what rules name. */
@Injectable()
export class RuleCatalogueQuery {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(ActivityCatalogue) private readonly activity: ActivityCatalogue,
  ) {}

  /** All that is there of what the rules of `self` name; `self` is null for rules of no segment yet. */
  async find(scope: ProjectScope, references: RuleReferences, self: string | null): Promise<RuleCatalogue> {
    const segments =
      references.segmentKeys.size === 0 ? new Map<string, KnownSegment>() : await this.#segments(scope, self);
    return { ...(await this.findStored(scope, references)), segments };
  }

  /** The same without segments, which the caller knows. */
  async findStored(
    scope: ProjectScope,
    references: RuleReferences,
  ): Promise<Omit<RuleCatalogue, 'segments'>> {
    return {
      topics: await this.#topics(scope, [...references.topicKeys]),
      campaigns: await this.activity.campaignIds(scope, [...references.campaignKeys]),
      customFields: await this.#customFields(scope, [...references.customFields]),
    };
  }

  async #topics(scope: ProjectScope, keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (keys.length === 0) return new Map();
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<{ id: string; key: string }>`
        select id, topic_key as key from audience.topics
        where environment_id = ${scope.environmentId} and topic_key = any(${asText(keys)}::text[]) and deleted_at is null
      `.execute(db);
      return new Map(rows.map(({ id, key }) => [key, id]));
    });
  }

  async #customFields(
    scope: ProjectScope,
    keys: readonly string[],
  ): Promise<ReadonlyMap<string, KnownField>> {
    if (keys.length === 0) return new Map();
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<KnownField & { key: string }>`
        select key, type, status, options from audience.custom_fields
        where environment_id = ${scope.environmentId} and key = any(${asText(keys)}::text[])
      `.execute(db);
      return new Map(rows.map(({ key, ...field }) => [key, field]));
    });
  }

  #segments(scope: ProjectScope, self: string | null): Promise<ReadonlyMap<string, KnownSegment>> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<SegmentLinks>`
        select s.id, s.segment_key as "segmentKey", s.condition_count as "conditionCount",
          array(select r.used_segment_id from audience.segment_references r where r.segment_id = s.id) as uses
        from audience.segments s where s.environment_id = ${scope.environmentId}
      `.execute(db);
      return knownSegments(rows, self);
    });
  }
}

/** PostgreSQL has no text with a NUL. */
function asText(keys: readonly string[]): string[] {
  return keys.filter((key) => !key.includes('\u0000') && key.isWellFormed());
}

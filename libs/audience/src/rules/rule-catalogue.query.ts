import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { AudienceTables } from '../audience-tables.js';
import {
  parseRuleText,
  type ReadRules,
  readRules,
  referencesIn,
  type RuleErrors,
  type RuleReadingOptions,
  type RuleReferences,
} from './rule-reader.js';
import type { KnownField, KnownSegment, MailActivity, MailFilter, RuleCatalogue } from './rule.js';

/** A source of mail activity. */
export interface MailActivitySource {
  /**
   * A complete SELECT of `subscriber_id uuid, occurred_at timestamptz` with a row for each matching event. The ids are
   * not null.
   */
  rows(scope: ProjectScope, type: MailActivity, mails: MailFilter): RawBuilder<unknown>;
  /** The ids of the campaigns with these keys. */
  campaignIds(scope: ProjectScope, campaignKeys: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

/** The source of mail events for rules. The sending context registers it, since the audience knows no other context. */
export class ActivityCatalogue implements MailActivitySource {
  #source: MailActivitySource | null = null;

  register(source: MailActivitySource): void {
    if (this.#source !== null) throw new Error('A source of mail activity is already registered.');
    this.#source = source;
  }

  /** Selects no rows without a source. */
  rows(scope: ProjectScope, type: MailActivity, mails: MailFilter): RawBuilder<unknown> {
    return (
      this.#source?.rows(scope, type, mails) ??
      sql`select null::uuid as subscriber_id, null::timestamptz as occurred_at where false`
    );
  }

  async campaignIds(
    scope: ProjectScope,
    campaignKeys: readonly string[],
  ): Promise<ReadonlyMap<string, string>> {
    if (this.#source === null || campaignKeys.length === 0) return new Map();
    return this.#source.campaignIds(scope, campaignKeys);
  }
}

/** A segment and the segments that its rules name. */
export interface SegmentLinks {
  readonly id: string;
  readonly segmentKey: string;
  /** Number of conditions in its own rules. */
  readonly conditionCount: number;
  readonly uses: readonly string[];
}

interface RulesInProject {
  readonly rules: ReadRules;
  /** The topics that they name. */
  readonly topicIds: string[];
  /** The keys of the archived custom fields that stored rules name. */
  readonly archivedFields: readonly string[];
}

/** Looks up the topics, segments, fields and campaigns that rules name. */
@Injectable()
export class RuleCatalogueQuery {
  constructor(
    private readonly database: Database,
    private readonly activity: ActivityCatalogue,
  ) {}

  /**
   * Reads rules from text with the catalogue of the project, and returns them with the topics that they name, or every error
   * by its path. `self` is the segment with these rules, null for a new one or none; see `readRules`.
   */
  async read(
    scope: ProjectScope,
    text: string,
    { self = null, ...reading }: RuleReadingOptions & { readonly self?: string | null },
  ): Promise<RulesInProject | { readonly errors: RuleErrors }> {
    const parsed = parseRuleText(text, reading.root);
    if ('errors' in parsed) return parsed;
    const catalogue = await this.find(scope, referencesIn(parsed.json), self);
    const result = readRules(parsed.json, catalogue, reading);
    if ('errors' in result) return result;
    const archived = [...catalogue.customFields].filter(([, { status }]) => status === 'ARCHIVED');
    const archivedFields = archived.map(([key]) => key);
    return { ...result, topicIds: [...catalogue.topics.values()], archivedFields };
  }

  /** Looks up everything that the rules of `self` name; `self` is null for rules without a segment. */
  async find(scope: ProjectScope, references: RuleReferences, self: string | null): Promise<RuleCatalogue> {
    const segments =
      references.segmentKeys.size === 0 ? new Map<string, KnownSegment>() : await this.#segments(scope, self);
    return { ...(await this.findStored(scope, references)), segments };
  }

  /** The same without segments, which the caller already has. */
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
    return this.database.transaction(scope, async () => {
      const topics = await this.database
        .tables<AudienceTables>()
        .selectFrom('audience.topics')
        .select(['id', 'topicKey'])
        .where('environmentId', '=', scope.environmentId)
        .where('topicKey', '=', anyOf(keys))
        .where('deletedAt', 'is', null)
        .execute();
      return new Map(topics.map(({ id, topicKey }) => [topicKey, id]));
    });
  }

  async #customFields(
    scope: ProjectScope,
    keys: readonly string[],
  ): Promise<ReadonlyMap<string, KnownField>> {
    if (keys.length === 0) return new Map();
    return this.database.transaction(scope, async () => {
      const fields = await this.database
        .tables<AudienceTables>()
        .selectFrom('audience.custom_fields')
        .select(['key', 'type', 'status', 'options'])
        .where('environmentId', '=', scope.environmentId)
        .where('key', '=', anyOf(keys))
        .execute();
      return new Map(fields.map(({ key, ...field }) => [key, field]));
    });
  }

  #segments(scope: ProjectScope, self: string | null): Promise<ReadonlyMap<string, KnownSegment>> {
    return this.database.transaction(scope, async () => {
      const { rows } = await sql<SegmentLinks>`
        select s.id, s.segment_key, s.condition_count,
          array(select r.used_segment_id from audience.segment_references r
            where r.environment_id = ${scope.environmentId} and r.segment_id = s.id) as uses
        from audience.segments s where s.environment_id = ${scope.environmentId}
      `.execute(this.database.tables());
      return knownSegments(rows, self);
    });
  }
}

/** PostgreSQL text cannot contain NUL. */
function anyOf(keys: readonly string[]): RawBuilder<string> {
  return sql`any(${keys.filter((key) => !key.includes('\u0000') && key.isWellFormed())}::text[])`;
}

/**
 * The segments that rules can name, with their links. `self` is the segment with the rules, null for a new one. The links
 * have no cycle, since cycles are refused.
 */
export function knownSegments(
  segments: readonly SegmentLinks[],
  self: string | null,
): ReadonlyMap<string, KnownSegment> {
  const byId = new Map(segments.map((segment) => [segment.id, segment]));
  const known = new Map<string, KnownSegment>();
  const describe = (segment: SegmentLinks): KnownSegment => {
    const done = known.get(segment.id);
    if (done !== undefined) return done;
    const used = segment.uses.flatMap((id) => byId.get(id) ?? []).map(describe);
    const description = {
      id: segment.id,
      leadsBack: segment.id === self || used.some(({ leadsBack }) => leadsBack),
      conditions: used.reduce((sum, { conditions }) => sum + conditions, segment.conditionCount),
      chain: used.reduce((longest, { chain }) => Math.max(longest, chain), 0) + 1,
    };
    known.set(segment.id, description);
    return description;
  };
  return new Map(segments.map((segment) => [segment.segmentKey, describe(segment)]));
}

import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { DomainValidationError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { ActivityCatalogue } from './activity-catalogue.query.js';
import { frequentOptions } from './frequent-options.query.js';
import type { RuleCatalogue } from './rule-catalogue.js';
import { RuleCatalogueQuery } from './rule-catalogue.query.js';
import { parseRuleText, type ReadRules, readRules, referencesIn } from './rule-reader.js';
import { segmentPredicate, type ResolvedSegment } from './segment-predicate.query.js';
import type { RuleNode } from './segment-rules.js';

interface StoredSegment {
  readonly id: string;
  readonly segmentKey: string;
  readonly name: string;
  readonly rules: string | null;
}

/** A segment whose rules are no longer valid, and the path and fault. */
export interface SegmentFault {
  readonly name: string;
  readonly fault: string;
}

/** Compiles rules and segments to SQL conditions. */
@Injectable()
export class SegmentPredicates {
  constructor(
    private readonly database: Database,
    private readonly catalogue: RuleCatalogueQuery,
    private readonly activity: ActivityCatalogue,
  ) {}

  /** Reads the rules of the segment `self`, null for a new one. Throws DomainValidationError with every error. */
  async read(scope: ProjectScope, text: string, self: string | null): Promise<ReadRules> {
    const result = await this.catalogue.read(scope, text, { self });
    if ('errors' in result) throw new DomainValidationError(result.errors);
    return result.rules;
  }

  /** The condition on `b` that the rules hold at `now`, for all subscribers: see `segmentPredicate`. */
  ofRules(scope: ProjectScope, { where, segmentIds }: ReadRules, now: Date): Promise<RawBuilder<boolean>> {
    return this.#ofEverybody(scope, where, segmentIds, now);
  }

  /** The same condition for a statement about given people. */
  async ofRulesForFew(
    scope: ProjectScope,
    { where, segmentIds }: ReadRules,
    now: Date,
  ): Promise<RawBuilder<boolean>> {
    const segments = await this.#resolve(scope, segmentIds);
    return segmentPredicate(where, { scope, now, segments, activity: this.activity, frequent: new Set() });
  }

  /**
   * The condition to be in at least one of the segments at `now`. Nobody is in a deleted segment, or in one whose rules are
   * no longer valid.
   */
  async anyOf(scope: ProjectScope, segmentIds: readonly string[], now: Date): Promise<RawBuilder<boolean>> {
    const nodes = segmentIds.map((segmentId): RuleNode => ({ kind: 'segment', segmentId, member: true }));
    return this.#ofEverybody(scope, { kind: 'or', nodes }, segmentIds, now);
  }

  /**
   * The first fault of each of these segments, and of those that they name, whose rules would not be accepted today: they name
   * an archived field, say. By the names of the segments.
   */
  async faultsOf(scope: ProjectScope, segmentIds: readonly string[]): Promise<readonly SegmentFault[]> {
    if (segmentIds.length === 0) return [];
    const segments = await this.#load(scope, segmentIds);
    const documents = segments.map(({ rules }) => (rules === null ? null : parseRuleText(rules)));
    const catalogue = await this.#catalogueOf(scope, segments, documents);
    return segments.flatMap(({ name }, index) => {
      const parsed = documents[index] ?? null;
      if (parsed === null) return [];
      const read = 'errors' in parsed ? parsed : readRules(parsed.json, catalogue);
      const [first] = 'errors' in read ? Object.entries(read.errors) : [];
      return first === undefined ? [] : [{ name, fault: first.join(' ') }];
    });
  }

  async #ofEverybody(
    scope: ProjectScope,
    where: RuleNode,
    segmentIds: readonly string[],
    now: Date,
  ): Promise<RawBuilder<boolean>> {
    const segments = await this.#resolve(scope, segmentIds);
    const rules = [...segments.values()].flatMap((each) =>
      each.type === 'DYNAMIC' && each.where !== null ? [each.where] : [],
    );
    const frequent = await frequentOptions(this.database, scope, [where, ...rules]);
    return segmentPredicate(where, { scope, now, segments, activity: this.activity, frequent });
  }

  /** The segments with all segments that they name, directly or through others. */
  async #resolve(scope: ProjectScope, ids: readonly string[]): Promise<ReadonlyMap<string, ResolvedSegment>> {
    if (ids.length === 0) return new Map();
    const stored = await this.#load(scope, ids);
    const documents = new Map(
      stored.map(({ id, rules }) => [id, rules === null ? null : parseRuleText(rules)]),
    );
    const catalogue = await this.#catalogueOf(scope, stored, [...documents.values()]);
    const read = new Map<string, ReadRules | 'STATIC' | 'UNREADABLE'>();
    for (const [id, parsed] of documents) {
      const result =
        parsed === null || 'errors' in parsed ? null : readRules(parsed.json, catalogue, { stored: true });
      if (parsed === null) read.set(id, 'STATIC');
      else read.set(id, result === null || 'errors' in result ? 'UNREADABLE' : result.rules);
    }
    return new Map([...read.keys()].map((id) => [id, resolved(id, read)]));
  }

  /** Of what the rules of stored segments name, which name no others than these. */
  async #catalogueOf(
    scope: ProjectScope,
    stored: readonly StoredSegment[],
    documents: readonly (ReturnType<typeof parseRuleText> | null)[],
  ): Promise<RuleCatalogue> {
    const json = documents.map((parsed) => (parsed !== null && 'json' in parsed ? parsed.json : null));
    const known = stored.map(
      ({ id, segmentKey }) => [segmentKey, { id, leadsBack: false, conditions: 0, chain: 1 }] as const,
    );
    return { ...(await this.catalogue.findStored(scope, referencesIn(json))), segments: new Map(known) };
  }

  #load(scope: ProjectScope, ids: readonly string[]): Promise<readonly StoredSegment[]> {
    return this.database.transaction(scope, async () => {
      const { rows } = await sql<StoredSegment>`
        with recursive needed as (
          select id from unnest(${[...ids]}::uuid[]) as wanted(id)
          union
          select r.used_segment_id from needed n
          join audience.segment_references r on r.environment_id = ${scope.environmentId} and r.segment_id = n.id
        )
        select s.id, s.segment_key, s.name, s.rules from audience.segments s
        where s.environment_id = ${scope.environmentId} and s.id in (select id from needed)
      `.execute(this.database.tables());
      return rows;
    });
  }
}

/** Rules that name a segment with invalid rules match nobody: under a negation it would match everybody. */
function resolved(
  id: string,
  read: ReadonlyMap<string, ReadRules | 'STATIC' | 'UNREADABLE'>,
): ResolvedSegment {
  const rules = read.get(id);
  if (rules === undefined || rules === 'STATIC') return { type: 'STATIC' };
  const isReadable = (each: string): boolean => {
    const used = read.get(each);
    if (used === undefined || used === 'STATIC') return true;
    return used !== 'UNREADABLE' && used.segmentIds.every(isReadable);
  };
  return { type: 'DYNAMIC', where: rules !== 'UNREADABLE' && isReadable(id) ? rules.where : null };
}

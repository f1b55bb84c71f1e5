import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { DomainValidationError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { ActivityCatalogue, RuleCatalogueQuery } from './rule-catalogue.query.js';
import { type ResolvedSegment, rulePredicate } from './rule-predicate.query.js';
import { parseRuleText, type ReadRules, readRules, referencesIn, type RuleErrors } from './rule-reader.js';
import type { RuleCatalogue, RuleNode } from './rule.js';
import { frequentOptions, withRoomForSets } from './set-plans.query.js';

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

/** The errors in rules, or the segments and topics that they name. */
export type JudgedRules =
  | { readonly errors: RuleErrors }
  | { readonly segmentIds: readonly string[]; readonly topicIds: readonly string[] };

/** Rules were accepted and can no longer be answered. */
export class OutdatedRulesError extends Error {
  override readonly name = 'OutdatedRulesError';
}

/** Checks rules, of segments or others in the same grammar, and compiles them to SQL conditions. */
@Injectable()
export class SubscriberRulesService {
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

  /** The condition on `b` that the rules hold at `now`, for all subscribers: see `rulePredicate`. */
  ofRules(scope: ProjectScope, { where, segmentIds }: ReadRules, now: Date): Promise<RawBuilder<boolean>> {
    return this.#ofEverybody(scope, where, segmentIds, now);
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

  /** Checks rules outside segments. Every error has its path, which begins with `root`. */
  async judge(scope: ProjectScope, text: string, root: string): Promise<JudgedRules> {
    const result = await this.catalogue.read(scope, text, { root });
    if ('errors' in result) return result;
    return { segmentIds: result.rules.segmentIds, topicIds: result.topicIds };
  }

  /**
   * The subscribers among these who match rules that were checked before, at `now`. Throws `OutdatedRulesError` for rules that
   * are no longer valid, or name an archived field, whose values nobody sees or changes any more.
   */
  async holdingFor(
    scope: ProjectScope,
    text: string,
    subscriberIds: readonly string[],
    now: Date,
  ): Promise<ReadonlySet<string>> {
    const predicate = await this.ofText(scope, text, now);
    return this.database.transaction(scope, async () => {
      const members = sql<{ id: string }>`
        select b.id from audience.scoped_subscribers b
        where b.environment_id = ${scope.environmentId} and b.id = any(${[...subscriberIds]}::uuid[]) and ${predicate}
      `;
      const { rows } = await withRoomForSets(this.database, () => members.execute(this.database.tables()));
      return new Set(rows.map(({ id }) => id));
    });
  }

  /** The condition on `b` that rules which were checked before hold at `now`. Throws `OutdatedRulesError` as `holdingFor` does. */
  async ofText(scope: ProjectScope, text: string, now: Date): Promise<RawBuilder<boolean>> {
    const result = await this.catalogue.read(scope, text, { stored: true });
    if ('errors' in result) {
      const [first] = Object.entries(result.errors);
      throw new OutdatedRulesError(`The rules are no longer valid: ${first?.join(' ')}.`);
    }
    const [archived] = result.archivedFields;
    if (archived !== undefined)
      throw new OutdatedRulesError(`The rules name custom.${archived}, which is archived.`);
    const { where, segmentIds } = result.rules;
    const segments = await this.#resolve(scope, segmentIds);
    const context = { scope, now, segments, activity: this.activity, frequent: new Set<never>() };
    return rulePredicate(where, context);
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
    return rulePredicate(where, { scope, now, segments, activity: this.activity, frequent });
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

  /** Catalogue of everything that the rules of stored segments name; they name no other segments. */
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

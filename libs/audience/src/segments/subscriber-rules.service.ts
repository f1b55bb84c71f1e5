import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import { RuleCatalogueQuery } from './rule-catalogue.query.js';
import type { RuleErrors } from './rule-reader.js';
import { makeRoomForSets } from './set-plans.query.js';
import { type SegmentFault, SegmentPredicates } from './segment-predicates.service.js';

/** The errors in rules, or the segments and topics that they name. */
export type JudgedRules =
  | { readonly errors: RuleErrors }
  | { readonly segmentIds: readonly string[]; readonly topicIds: readonly string[] };

/** Rules were accepted and can no longer be answered. */
export class OutdatedRulesError extends Error {
  override readonly name = 'OutdatedRulesError';
}

/** Rules outside segments, in the same grammar. */
@Injectable()
export class SubscriberRules {
  constructor(
    private readonly database: Database,
    private readonly catalogue: RuleCatalogueQuery,
    private readonly predicates: SegmentPredicates,
  ) {}

  /** Checks rules. Every error has its path, which begins with `root`. */
  async judge(scope: ProjectScope, text: string, root: string): Promise<JudgedRules> {
    const result = await this.catalogue.read(scope, text, { root });
    if ('errors' in result) return result;
    return { segmentIds: result.rules.segmentIds, topicIds: result.topicIds };
  }

  /** The faults in the rules of stored segments and of those that they name: see `SegmentPredicates.faultsOf`. */
  faultsOfSegments(scope: ProjectScope, segmentIds: readonly string[]): Promise<readonly SegmentFault[]> {
    return this.predicates.faultsOf(scope, segmentIds);
  }

  /**
   * The subscribers among these who match the rules, which were checked before, at `now`. Throws `OutdatedRulesError` for
   * rules that are no longer valid, or name an archived field, whose values nobody sees or changes any more.
   */
  async holdingFor(
    scope: ProjectScope,
    text: string,
    subscriberIds: readonly string[],
    now: Date,
  ): Promise<ReadonlySet<string>> {
    const result = await this.catalogue.read(scope, text, { stored: true });
    if ('errors' in result) {
      const [first] = Object.entries(result.errors);
      throw new OutdatedRulesError(`The rules are no longer valid: ${first?.join(' ')}.`);
    }
    const [archived] = result.archivedFields;
    if (archived !== undefined)
      throw new OutdatedRulesError(`The rules name custom.${archived}, which is archived.`);
    const predicate = await this.predicates.ofRulesForFew(scope, result.rules, now);
    return this.database.transaction(scope, async () => {
      await makeRoomForSets(this.database);
      const { rows } = await sql<{ id: string }>`
        select b.id from audience.scoped_subscribers b
        where b.environment_id = ${scope.environmentId} and b.id = any(${[...subscriberIds]}::uuid[]) and ${predicate}
      `.execute(this.database.tables());
      return new Set(rows.map(({ id }) => id));
    });
  }
}

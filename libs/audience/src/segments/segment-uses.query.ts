import { Injectable, type OnModuleInit } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope, UserKind } from '#kernel';
import { Database } from '#platform';
import { namedInRules } from '../rules/rule-reader.js';
import {
  UsageCatalogueService,
  type Use,
  type UsedThings,
  type UserSource,
} from '../usage-catalogue.service.js';

interface SegmentWithRules {
  readonly id: string;
  readonly key: string;
  readonly name: string;
  readonly rules: string;
}

/** The segments that use a thing by naming it in their rules: see `USES`. */
@Injectable()
export class SegmentUsesQuery implements UserSource, OnModuleInit {
  readonly users: UserKind = 'segment';

  constructor(
    private readonly database: Database,
    private readonly usage: UsageCatalogueService,
  ) {}

  onModuleInit(): void {
    this.usage.register(this);
  }

  usesOf(scope: ProjectScope, things: UsedThings): Promise<readonly Use[]> {
    return this.database.transaction(scope, async () => {
      switch (things.kind) {
        case 'segment':
          return this.#ofSegments(scope, things.ids);
        case 'topic':
          return this.#ofTopics(scope, things.ids);
        case 'custom field':
        case 'option':
          return this.#ofField(scope, things);
        case 'default of a custom field':
        case 'template':
        case 'sending domain':
          return [];
      }
    });
  }

  async #ofSegments({ environmentId }: ProjectScope, ids: readonly string[]): Promise<readonly Use[]> {
    const { rows } = await sql<Use>`
      select 'segment' as kind, s.segment_key as key, s.name, r.used_segment_id as of
      from audience.segment_references r
      join audience.segments s on s.environment_id = r.environment_id and s.id = r.segment_id
      where r.environment_id = ${environmentId} and r.used_segment_id = any(${[...ids]}::uuid[])
      order by s.segment_key
    `.execute(this.database.tables());
    return rows;
  }

  async #ofField(
    scope: ProjectScope,
    things: Extract<UsedThings, { readonly kind: 'custom field' } | { readonly kind: 'option' }>,
  ): Promise<readonly Use[]> {
    const uses: Use[] = [];
    for (const { key, name, rules } of await this.#naming(scope, things.key)) {
      const named = namedInRules(rules, things);
      uses.push(...named.map((of) => ({ kind: 'segment' as const, key, name, of })));
    }
    return uses;
  }

  /** A segment that names a topic, with the campaigns and automations that use it, directly or through other segments. */
  async #ofTopics(scope: ProjectScope, ids: readonly string[]): Promise<readonly Use[]> {
    const { rows: topics } = await sql<{ id: string; key: string }>`
      select id, topic_key as key from audience.topics
      where environment_id = ${scope.environmentId} and id = any(${[...ids]}::uuid[])
    `.execute(this.database.tables());
    const uses: Use[] = [];
    for (const { id: of, key: topicKey } of topics) {
      for (const { id, key, name, rules } of await this.#naming(scope, topicKey)) {
        if (namedInRules(rules, { kind: 'topic', key: topicKey }).length === 0) continue;
        const sends = await this.usage.sendsBy(scope, await this.#withThoseThatName(scope, id));
        if (sends.length === 0) continue;
        uses.push({ kind: 'segment', key, name, of }, ...sends.map((send) => ({ ...send, of })));
      }
    }
    return uses;
  }

  /** Segments whose rules may name a key. JSON may spell one with escapes. */
  async #naming({ environmentId }: ProjectScope, key: string): Promise<readonly SegmentWithRules[]> {
    const { rows } = await sql<SegmentWithRules>`
      select s.id, s.segment_key as key, s.name, s.rules from audience.segments s
      where s.environment_id = ${environmentId}
        and (position(${key} in s.rules) > 0 or position(${'\\u'} in s.rules) > 0)
      order by s.segment_key
    `.execute(this.database.tables());
    return rows;
  }

  async #withThoseThatName({ environmentId }: ProjectScope, id: string): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      with recursive naming as (
        select ${id}::uuid as id
        union
        select r.segment_id from naming n
        join audience.segment_references r on r.environment_id = ${environmentId} and r.used_segment_id = n.id
      )
      select id from naming
    `.execute(this.database.tables());
    return rows.map((row) => row.id);
  }
}

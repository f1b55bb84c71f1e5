import { Injectable, type OnModuleInit } from '@nestjs/common';
import { sql } from 'kysely';
import {
  changeableField,
  namedInRules,
  type Use,
  UsageCatalogueService,
  type UsedThings,
  type UserSource,
} from '#audience';
import { Clock, type ProjectScope, type UserKind } from '#kernel';
import { Database } from '#platform';
import { ContentProcessesService } from '../../content/processes/content-processes.service.js';
import { TemplateContentsQuery } from '../../templates/template-contents.query.js';
import { type AutomationNode, isOf, readGraph } from '../graph/automation-graph.js';
import { namedIn } from '../graph/node-config.js';

const COLUMNS = { topic: 'topic_ids', segment: 'segment_ids' } as const;

interface UsingVersion {
  readonly key: string;
  readonly name: string;
  readonly nodes: string;
  readonly versionId: number;
  /** Keyed by the place of the node. */
  readonly templateIds: readonly (string | null)[];
}

/** Active automations, and paused ones with people inside, as users: see `USES`. */
@Injectable()
export class AutomationUsageQuery implements UserSource, OnModuleInit {
  readonly users: UserKind = 'automation';

  constructor(
    private readonly database: Database,
    private readonly usage: UsageCatalogueService,
    private readonly processes: ContentProcessesService,
    private readonly templates: TemplateContentsQuery,
    private readonly clock: Clock,
  ) {}

  onModuleInit(): void {
    this.usage.register(this);
  }

  usesOf(scope: ProjectScope, things: UsedThings): Promise<readonly Use[]> {
    return this.database.transaction(scope, () => {
      if (things.kind === 'template') return this.#byTemplate(scope, things);
      if ('ids' in things) return this.#byIds(scope, things);
      return 'key' in things ? this.#byNodes(scope, things) : this.#byMail(scope);
    });
  }

  async #byMail(scope: ProjectScope): Promise<readonly Use[]> {
    return (await this.#versions(scope))
      .filter(({ nodes }) => nodesOf(nodes).some((node) => isOf(node, 'email')))
      .map(({ key, name }) => ({ kind: 'automation', key, name, of: '' }));
  }

  async #byTemplate(
    scope: ProjectScope,
    { id, templateKey }: Extract<UsedThings, { readonly kind: 'template' }>,
  ): Promise<readonly Use[]> {
    const { rows } = await sql<Use>`
      select distinct 'automation' as kind, a.automation_key as key, a.name, ${templateKey}::text as of
      ${using(scope)} where ${isUsing} and ${id}::uuid = any(v.mail_template_ids) order by key
    `.execute(this.database.tables());
    return rows;
  }

  async #byIds(
    scope: ProjectScope,
    { kind, ids }: Extract<UsedThings, { readonly ids: readonly string[] }>,
  ): Promise<readonly Use[]> {
    const { rows } = await sql<Use>`
      select distinct 'automation' as kind, a.automation_key as key, a.name, used.id as of
      ${using(scope)} cross join unnest(v.${sql.ref(COLUMNS[kind])}) as used(id)
      where ${isUsing} and used.id = any(${[...ids]}::uuid[])
      order by key
    `.execute(this.database.tables());
    return rows;
  }

  async #byNodes(
    scope: ProjectScope,
    things: Extract<UsedThings, { readonly key: string }>,
  ): Promise<readonly Use[]> {
    const uses: Use[] = [];
    for (const version of await this.#versions(scope)) {
      const { key, name } = version;
      const steps = nodesOf(version.nodes).map(namedIn);
      const named = steps.flatMap(({ rules, exitWhen }) =>
        [rules, exitWhen].flatMap((one) => namedBy(one, things)),
      );
      named.push(...steps.flatMap((step) => setBy(step, things)));
      if (things.kind !== 'option' && named.length === 0) {
        const ofTemplates = await this.#contentsOfTemplates(scope, version);
        const inContent = await this.processes.customKeys(scope, {
          texts: [
            ...steps.map(({ mail, body, value }) => [mail && { ...mail, contentJson: null }, body, value]),
            ...ofTemplates.map((content) => [{ ...content, contentJson: null }]),
          ],
          documents: [...steps.map(({ mail }) => mail), ...ofTemplates].flatMap(
            (mail) => mail?.contentJson ?? [],
          ),
        });
        if (inContent.includes(things.key)) named.push(things.key);
      }
      uses.push(...named.map((of) => ({ kind: 'automation' as const, key, name, of })));
    }
    return uses;
  }

  /** Contents of templates that those inside of the version may yet get, and those who enter it now. */
  async #contentsOfTemplates(
    scope: ProjectScope,
    { nodes, templateIds, versionId }: UsingVersion,
  ): Promise<readonly { readonly contentJson: string | null }[]> {
    if (templateIds.every((id) => id === null)) return [];
    const { rows } = await sql<{ firstAt: Date | null }>`
      select min(entered_at) as first_at from messaging.automation_runs
      where environment_id = ${scope.environmentId} and version_id = ${versionId} and wake_at is not null
    `.execute(this.database.tables());
    const at = rows[0]?.firstAt ?? this.clock.now();
    const moments = nodesOf(nodes).flatMap((node, place) => {
      const templateId = templateIds[place] ?? null;
      if (templateId === null) return [];
      return [{ templateId, version: namedIn(node).mail?.templateVersion ?? null, at }];
    });
    const found = await this.templates.withCustomFieldsSince(scope, moments);
    return found.flatMap(({ translations, ...own }) => [own, ...Object.values(translations)]);
  }

  async #versions(scope: ProjectScope): Promise<readonly UsingVersion[]> {
    const { rows } = await sql<UsingVersion>`
      select a.automation_key as key, a.name, v.nodes, v.id as version_id, v.mail_template_ids as template_ids
      ${using(scope)} where ${isUsing} order by a.created_at, v.id
    `.execute(this.database.tables());
    return rows;
  }
}

const using = ({ environmentId }: ProjectScope) => sql`
  from messaging.automations a
  join messaging.automation_versions v
    on v.environment_id = ${environmentId} and a.environment_id = ${environmentId} and v.automation_id = a.id`;

/** The version that people enter, and each that has somebody inside. */
const isUsing = sql`(
  (a.status = 'ACTIVE' and v.id = a.version_id)
  or (a.status in ('ACTIVE', 'PAUSED') and exists (
    select 1 from messaging.automation_runs r
    where r.environment_id = v.environment_id and r.version_id = v.id and r.wake_at is not null
  ))
)`;

/** Rules see no defaults. */
function namedBy(
  rules: string | null,
  things: Extract<UsedThings, { readonly key: string }>,
): readonly string[] {
  if (rules === null || things.kind === 'default of a custom field') return [];
  return namedInRules(rules, things);
}

/** An update_field changes the field, or sets it to one of the options. */
function setBy(
  { key, value }: ReturnType<typeof namedIn>,
  things: Extract<UsedThings, { readonly key: string }>,
): readonly string[] {
  const field = key === null ? null : changeableField(key);
  if (field === null || !('custom' in field) || field.custom !== things.key) return [];
  if (things.kind === 'custom field') return [things.key];
  if (things.kind === 'default of a custom field') return [];
  return [value].flat().filter((one) => typeof one === 'string' && things.values.includes(one)) as string[];
}

const nodesOf = (nodes: string): readonly AutomationNode[] =>
  readGraph({ nodes, edges: null }).graph?.nodes ?? [];

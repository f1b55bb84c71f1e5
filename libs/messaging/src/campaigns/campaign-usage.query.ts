import { Injectable, type OnModuleInit } from '@nestjs/common';
import { sql } from 'kysely';
import { type Use, UsageCatalogueService, type UsedThings, type UserSource } from '#audience';
import type { ProjectScope, UserKind } from '#kernel';
import { Database } from '#platform';
import { ContentProcessesService } from '../content/processes/content-processes.service.js';
import type { MessagingTables } from '../messaging-tables.js';
import { contentIn } from '../content/document/translated-content.js';
import { CampaignContentsQuery } from './campaign-contents.query.js';
import { type CampaignStatus, UNDER_WAY } from './campaign.js';

const COLUMNS = { topic: 'topic_ids', segment: 'segment_ids' } as const;

/** States of campaigns whose topics, segments and custom fields must stay. */
const USING: readonly CampaignStatus[] = ['SCHEDULED', ...UNDER_WAY];

/** States of campaigns that are sent no more. */
const ENDED: readonly CampaignStatus[] = ['SENT', 'CANCELLED', 'ARCHIVED'];

/** Campaigns that are scheduled or under way, and drafts of templates, as users: see `USES`. */
@Injectable()
export class CampaignUsageQuery implements UserSource, OnModuleInit {
  readonly users: UserKind = 'campaign';

  constructor(
    private readonly database: Database,
    private readonly usage: UsageCatalogueService,
    private readonly contents: CampaignContentsQuery,
    private readonly processes: ContentProcessesService,
  ) {}

  onModuleInit(): void {
    this.usage.register(this);
  }

  usesOf(scope: ProjectScope, things: UsedThings): Promise<readonly Use[]> {
    return this.database.transaction(scope, async () => {
      switch (things.kind) {
        case 'topic':
        case 'segment':
          return this.#byIds(scope, things);
        case 'custom field':
        case 'default of a custom field':
          return this.#byContent(scope, things.key);
        case 'template':
          return this.#byTemplate(scope, things.templateKey);
        case 'option':
          return [];
        case 'sending domain':
          return this.#all(scope);
      }
    });
  }

  async #all(scope: ProjectScope): Promise<readonly Use[]> {
    const campaigns = await this.#using(scope).select(['campaignKey as key', 'name']).execute();
    return campaigns.map((campaign) => ({ kind: 'campaign', ...campaign, of: '' }));
  }

  async #byIds(
    { environmentId }: ProjectScope,
    { kind, ids }: Extract<UsedThings, { readonly ids: readonly string[] }>,
  ): Promise<readonly Use[]> {
    const { rows } = await sql<Use>`
      select 'campaign' as kind, c.campaign_key as key, c.name, used.id as of
      from messaging.campaigns c cross join unnest(c.${sql.ref(COLUMNS[kind])}) as used(id)
      where c.environment_id = ${environmentId} and used.id = any(${[...ids]}::uuid[])
        and c.status = any(${[...USING]}::text[])
      order by c.created_at, c.id
    `.execute(this.database.tables());
    return rows;
  }

  async #byTemplate(scope: ProjectScope, templateKey: string): Promise<readonly Use[]> {
    const campaigns = await this.#campaigns(scope)
      .where((eb) =>
        eb.or([
          eb('templateKey', '=', templateKey),
          sql<boolean>`variants @> ${JSON.stringify([{ templateKey }])}::jsonb`,
        ]),
      )
      .where('status', 'not in', ENDED)
      .where('deletedAt', 'is', null)
      .select(['campaignKey as key', 'name'])
      .execute();
    return campaigns.map((campaign) => ({ kind: 'campaign', ...campaign, of: templateKey }));
  }

  /** One campaign at a time: content may be large. */
  async #byContent(scope: ProjectScope, key: string): Promise<readonly Use[]> {
    const uses: Use[] = [];
    for (const { id } of await this.#using(scope).select('id').execute()) {
      const campaign = await this.#using(scope).where('id', '=', id).selectAll().executeTakeFirst();
      if (campaign === undefined) continue;
      const { content } = await this.contents.of(scope, campaign);
      const contents = [contentIn(content, null), ...Object.values(content.translations)];
      const ofVariants = content.variants.flatMap((one) => [one, ...Object.values(one.translations)]);
      contents.push(...ofVariants.map((one) => ({ ...one, subject: one.subject ?? '' })));
      const named = await this.processes.customKeys(scope, {
        texts: [campaign.fromName, contents.map(({ contentJson: _json, ...texts }) => texts)],
        documents: contents.flatMap(({ contentJson }) => contentJson ?? []),
      });
      if (named.includes(key))
        uses.push({ kind: 'campaign', key: campaign.campaignKey, name: campaign.name, of: key });
    }
    return uses;
  }

  #using(scope: ProjectScope) {
    return this.#campaigns(scope).where('status', 'in', USING);
  }

  #campaigns({ environmentId }: ProjectScope) {
    return this.database
      .tables<MessagingTables>()
      .selectFrom('messaging.campaigns')
      .where('environmentId', '=', environmentId)
      .orderBy('createdAt')
      .orderBy('id');
  }
}

import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { environmentScopes } from '#access';
import type { ProjectScope } from '#kernel';
import { Database, isOf, keptDay } from '#platform';
import { PARTITION } from '../deliveries/partition.query.js';
import { SCOPE } from '../deliveries/scope.query.js';
import { domainFigures } from '../reports/statistics/domain-figures.query.js';
import { languageFigures, type TranslatedMails } from '../reports/statistics/language-figures.query.js';
import { linkClicks } from '../reports/statistics/link-clicks.query.js';
import { providerFigures } from '../reports/statistics/provider-figures.query.js';
import { FEWEST_MAILS_OF_DOMAIN } from '../reports/statistics/report-facts.js';
import type { SettledFigures } from '../reports/statistics/settled-figures.query.js';
import { environmentsOf, type Horizon, within } from './horizon.query.js';

interface SettledCampaign extends TranslatedMails {
  readonly queuedAt: Date;
  readonly scope: ProjectScope;
}

type Figures = Partial<Readonly<Record<SettledFigures, unknown>>>;

const BATCH = 500;

/** Keeps what else would be lost with deliveries and events: figures of campaigns that are counted from them. */
@Injectable()
export class Settlement {
  constructor(private readonly database: Database) {}

  /** Of all campaigns that were queued from one day to the other. Safe to repeat: what was counted later replaces it. */
  async settle(horizon: Horizon, from: string): Promise<void> {
    const { kind } = horizon;
    if (kind === 'STEPS') return;
    if (kind === 'EVENTS') await this.#keepAnswers(horizon, from);
    let after: string | null = null;
    do {
      const campaigns: SettledCampaign[] = await this.#campaigns(horizon, from, after);
      for (const campaign of campaigns) await this.#settle(kind, campaign);
      after = campaigns.length < BATCH ? null : (campaigns.at(-1)?.id ?? null);
    } while (after !== null);
  }

  #campaigns(
    { day, environmentId }: Horizon,
    from: string,
    after: string | null,
  ): Promise<SettledCampaign[]> {
    return this.database.system(async () => {
      const { rows } = await sql<Omit<SettledCampaign, 'scope'> & ProjectScope>`
        select c.id, c.queued_at, ${PARTITION}::text as queued_on, array(select jsonb_object_keys(c.translations)) as translations,
          ${SCOPE}
        from messaging.campaigns c join ${environmentScopes} e on e.environment_id = c.environment_id
        where ${PARTITION} >= ${from}::date and ${PARTITION} < ${day}::date
          and ${within(environmentId, 'c.environment_id')} and (${after}::uuid is null or c.id > ${after}::uuid)
        order by c.id limit ${BATCH}
      `.execute(this.database.tables());
      return rows.map(({ id, queuedAt, queuedOn, translations, ...scope }) => {
        return { id, queuedAt, queuedOn, translations, scope };
      });
    });
  }

  #settle(kind: 'DELIVERIES' | 'EVENTS', campaign: SettledCampaign): Promise<void> {
    return this.database.system(async () => {
      const figures =
        kind === 'EVENTS'
          ? { links: await linkClicks(this.database, campaign.scope, campaign) }
          : await this.#mails(campaign);
      await this.#write(campaign, figures);
    });
  }

  async #mails(campaign: SettledCampaign): Promise<Figures> {
    const { database } = this;
    return {
      providers: await providerFigures(database, campaign.scope, campaign, FEWEST_MAILS_OF_DOMAIN),
      languages: await languageFigures(database, campaign.scope, campaign),
      domains: await domainFigures(database, campaign.scope, campaign),
    };
  }

  async #write({ id, scope }: SettledCampaign, figures: Figures): Promise<void> {
    const names = Object.keys(figures);
    const columns = sql.join(names.map((name) => sql.ref(name)));
    const values = sql.join(Object.values(figures).map((value) => sql`${JSON.stringify(value)}::jsonb`));
    const changes = sql.join(names.map((name) => sql`${sql.ref(name)} = ${sql.ref(`excluded.${name}`)}`));
    await sql`
      insert into messaging.settled_figures (campaign_id, environment_id, ${columns})
      values (${id}, ${scope.environmentId}, ${values})
      on conflict (campaign_id, environment_id) do update set ${changes}
    `.execute(this.database.tables());
  }

  /** Unsubscriptions and complaints by mails that are kept: each counts once, however late it comes again. */
  async #keepAnswers({ day, environmentId }: Horizon, from: string): Promise<void> {
    const { database } = this;
    const answers = sql`messaging.delivery_events e where e.type in ('UNSUBSCRIBED', 'COMPLAINED') and e.classification = 'human'
      and e.campaign_id is not null and e.occurred_at >= ${from}::date and e.occurred_at < ${day}::date`;
    const environments = await database.system(() => environmentsOf(database, answers, 'e', environmentId));
    for (const id of environments) await database.system(() => this.#keepAnswersOf(id, answers));
  }

  async #keepAnswersOf(environmentId: number, answers: RawBuilder<unknown>): Promise<void> {
    const scope = { environmentId };
    const kept = await keptDay(this.database, scope, 'DELIVERIES');
    await sql`
      insert into messaging.delivery_engagement as g (delivery_id, queued_on, environment_id, campaign_id, unsubscribed_at,
        complained_at)
      select e.delivery_id, d.queued_on, e.environment_id, e.campaign_id,
        min(e.occurred_at) filter (where e.type = 'UNSUBSCRIBED'), min(e.occurred_at) filter (where e.type = 'COMPLAINED')
      from (select * from ${answers} and e.environment_id = ${environmentId}) e
      join messaging.deliveries d on d.id = e.delivery_id and ${isOf(scope, sql`d.environment_id`)}
      where d.queued_on >= ${kept}::date
      group by e.delivery_id, d.queued_on, e.environment_id, e.campaign_id
      on conflict (delivery_id, queued_on, environment_id) do update set
        unsubscribed_at = least(g.unsubscribed_at, excluded.unsubscribed_at),
        complained_at = least(g.complained_at, excluded.complained_at)
    `.execute(this.database.tables());
  }
}

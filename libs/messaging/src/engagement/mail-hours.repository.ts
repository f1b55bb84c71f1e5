import { type RawBuilder, sql } from 'kysely';
import { destinationOf, PROVIDER_DOMAINS } from '#deliverability';

/** Figures of mails by the hour, in the order of their columns. */
export const HOUR_FIGURES = [
  'sent',
  'delivered',
  'opened',
  'uniqueOpens',
  'clicked',
  'uniqueClicks',
  'hardBounced',
  'softBounced',
  'unsubscribed',
  'complained',
] as const;
export type HourFigure = (typeof HOUR_FIGURES)[number];

/** All automations, in place of a campaign. */
const AUTOMATIONS = sql.lit('00000000-0000-0000-0000-000000000000');

const PROVIDERS = JSON.stringify(
  Object.fromEntries(PROVIDER_DOMAINS.map((domain) => [domain, destinationOf(domain)])),
);

/** The mailbox provider of an address by its key: `other` for one that is none of the large ones, or was erased. */
export const providerOfKey = (addressKey: RawBuilder<unknown>): RawBuilder<string> =>
  sql<string>`coalesce(${PROVIDERS}::jsonb ->> split_part(${addressKey}, '@', 2), 'other')`;

/** Relay of a delivery as the hours have it. */
export const relayOfHour = (relayKey: RawBuilder<unknown>): RawBuilder<string> =>
  sql<string>`coalesce(${relayKey}, '')`;

interface HourChanges {
  /** SELECT of `environment_id`, `at`, `campaign_id` (null: an automation's), `relay_key`, `provider` and the figures. */
  readonly changes: RawBuilder<unknown>;
  readonly figures: readonly HourFigure[];
  readonly writer: number;
  /** Parts of the WITH whose rows are locked before these: one order of locks everywhere. */
  readonly after?: readonly string[];
}

/** INSERT that adds figures of mails to their hours. */
export function addingToHours({ changes, figures, writer, after = [] }: HourChanges): RawBuilder<unknown> {
  const columns = sql.join(figures.map((figure) => sql.ref(figure)));
  const sums = sql.join(figures.map((figure) => sql`sum(${sql.ref(`v.${figure}`)})`));
  const additions = sql.join(
    figures.map(
      (figure) => sql`${sql.ref(figure)} = ${sql.ref(`h.${figure}`)} + ${sql.ref(`excluded.${figure}`)}`,
    ),
  );
  const earlier = after.map((part) => sql`(select count(*) from ${sql.table(part)}) >= 0`);
  const nonZero = sql.join(
    figures.map((figure) => sql`sum(${sql.ref(`v.${figure}`)}) <> 0`),
    sql` or `,
  );
  return sql`insert into messaging.mail_hours as h (environment_id, hour, campaign_id, relay_key, provider, writer, ${columns})
    select v.environment_id, date_bin('1 hour', v.at, timestamptz '2000-01-01Z'), coalesce(v.campaign_id, ${AUTOMATIONS}), v.relay_key, v.provider, ${writer}::int, ${sums}
    from (${changes}) v ${after.length === 0 ? sql`` : sql`where ${sql.join(earlier, sql` and `)}`}
    group by 1, 2, 3, 4, 5 having ${nonZero} order by 1, 2, 3, 4, 5
    on conflict (environment_id, hour, campaign_id, relay_key, provider, writer) do update set ${additions}`;
}
